#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    tables().transaction(race.by_bib()).insert(&john());
}
