#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    struct NameOnly;
    let repo = repo();
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.list(race.by_bib()).project::<NameOnly>();
}
