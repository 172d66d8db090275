#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let _ = tables().repo::<Distance>();
}
