#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::ScanPermit;

async fn run() {
    let _ = repo().scan(ScanPermit::because("nightly export")).await;
}

fn main() {
    drop(run());
}
