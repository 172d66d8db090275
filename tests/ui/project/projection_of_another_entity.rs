#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::Projection;

#[derive(Projection)]
#[projection(of = Club)]
struct FoundedOnly {
    founded: u16,
}

fn main() {
    let repo = repo();
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.list(race.by_bib()).project::<FoundedOnly>();
}
