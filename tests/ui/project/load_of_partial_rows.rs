#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.load(race.by_time());
}
