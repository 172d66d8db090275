#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    let _ = repo.load(Club::partition("Harriers"));
}
