#[path = "../race.rs"]
mod race;

use race::*;

async fn run() {
    let race = Registration::partition("Boston", Distance::Full);
    let _ = repo().list(race.by_bib()).await;
}

fn main() {
    drop(run());
}
