#[path = "../race.rs"]
mod race;

#[allow(unused_imports)]
use race::*;
use table_orm::Projection;

#[derive(Projection)]
#[projection(from = Registration)]
struct NameOnly {
    name: String,
}

fn main() {
}
