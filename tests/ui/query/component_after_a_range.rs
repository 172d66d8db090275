#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    race.by_bib().bib_in(1000..2000).name("John");
}
