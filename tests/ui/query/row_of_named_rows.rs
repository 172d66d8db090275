#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    let _ = race.row().bib(7);
}
