#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::Projection;

#[derive(Projection)]
#[projection(of = Registration)]
struct NameAndCity {
    name: String,
    city: Option<String>,
}

fn main() {
    let repo = repo();
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.list(race.by_time()).project::<NameAndCity>();
}
