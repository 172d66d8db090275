#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    race.by_age().age(55).bib_in(1000..2000);
}
