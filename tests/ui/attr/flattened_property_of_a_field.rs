use table_orm::{Properties, TableEntity};

#[derive(Properties)]
struct Address {
    street: String,
    city: String,
}

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    city: String,
    #[table(flatten)]
    start: Address,
}

fn main() {}
