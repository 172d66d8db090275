#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    repo().merge(race.by_bib().bib(1), RegistrationPatch::default().city("Boston"));
}
