use std::borrow::Cow;
#[path = "../race.rs"]
mod race;

#[allow(unused_imports)]
use race::*;
use table_orm::Projection;

#[derive(Projection)]
#[projection(of = Registration, borrow)]
struct Owned {
    name: String,
}

#[derive(Projection)]
#[projection(of = Registration, borrow)]
struct Pair<'a, 'b> {
    name: Cow<'a, str>,
    city: Cow<'b, str>,
}

fn main() {
}
