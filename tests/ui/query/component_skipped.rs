#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    race.by_time().bib(1234);
}
