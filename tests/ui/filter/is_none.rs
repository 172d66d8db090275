#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo().list(race).filter(|row| row.city.is_none());
}
