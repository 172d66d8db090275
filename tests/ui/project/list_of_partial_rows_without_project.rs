#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::Repo;

async fn newest(repo: Repo<Registration>) {
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo.list(race.by_time()).collect().await;
}

fn main() {}
