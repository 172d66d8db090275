#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = clubs();
    let _ = repo.list(Club::partition("Harriers")).filter(|row| row.name.eq("Harriers"));
}
