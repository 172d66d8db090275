#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::ScanPermit;

fn main() {
    let repo = repo();
    let _ = repo.scan(ScanPermit::because());
}
