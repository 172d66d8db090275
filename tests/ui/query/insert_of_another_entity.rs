#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    let _ = repo.insert(&Club { name: "Harriers".into(), founded: 1900 });
}
