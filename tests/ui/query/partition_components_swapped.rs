#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition(Distance::Full, "Boston");
    race.by_bib();
}
