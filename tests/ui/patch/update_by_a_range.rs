#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    repo().update(race.by_bib().bib_in(1..5), |john| john.age += 1);
}
