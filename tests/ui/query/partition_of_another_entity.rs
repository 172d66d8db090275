#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    let _ = repo.verify(Club::partition("Harriers"));
    let _ = repo.backfill(Club::partition("Harriers"));
    let _ = repo.delete_partition(Club::partition("Harriers"));
}
