#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    let key = race.by_bib().bib(1).name("John").sex(Sex::M).age(55);
    repo().merge(key, john());
}
