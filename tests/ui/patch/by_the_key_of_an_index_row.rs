#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    let key = race.by_age().age(55).bib(1).name("John").sex(Sex::M);
    repo().merge(key, RegistrationPatch::default().city("Boston"));
}
