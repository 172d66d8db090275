#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    repo.get(Club::partition("Harriers").row().founded(1900));
}
