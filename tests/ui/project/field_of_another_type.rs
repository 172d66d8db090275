#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::Projection;

#[derive(Projection)]
#[projection(of = Registration)]
struct CityOnly {
    city: String,
}

fn main() {
    let repo = repo();
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.list(race.by_bib()).project::<CityOnly>();
}
