#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    repo.get("BIB:01234");
}
