#[path = "../race.rs"]
mod race;

use race::*;
use table_orm::Projection;

#[derive(Projection)]
#[projection(of = Distance)]
struct NameOnly {
    name: String,
}

fn main() {
}
