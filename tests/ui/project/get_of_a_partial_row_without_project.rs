#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::Repo;

async fn one(repo: Repo<Registration>) {
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.get(race.by_time().newest(now()).bib(1234)).await;
}

fn main() {}
