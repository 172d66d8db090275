#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    race.by_bib().bib(1234).name("John").sex_in(Sex::M..Sex::F);
}
