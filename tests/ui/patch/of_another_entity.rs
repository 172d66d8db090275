#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    let key = race.by_bib().bib(1).name("John").sex(Sex::M).age(55);
    clubs().merge(Club::partition("Harriers").row().founded(1898), RegistrationPatch::default().city("Boston"));
    repo().merge(key, RegistrationPatch::default().city("Boston"));
}
