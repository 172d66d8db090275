use table_orm::{KeyPart, TableEntity};

#[derive(KeyPart)]
enum Period {
    #[key("1")]
    First,
    #[key("2")]
    Second,
    #[key("3")]
    Third,
    #[key("4")]
    Fourth,
    #[key("5")]
    Overtime,
}

#[derive(TableEntity)]
#[table(name = "bills", partition = "{customer}", allow_single_partition, allow_append_only)]
#[row(by_id, key = "ID:{id:010}")]
#[row(by_cents, key = "CENTS:{cents:010}__{id:010}", allow_duplicate)]
struct Bill {
    customer: String,
    id: u32,
    cents: u32,
}

/// Only its type knows.
#[derive(TableEntity)]
#[table(name = "games", partition = "{period}", row = "{id:010}", allow_single_partition)]
struct Game {
    period: Period,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "goals", partition = "{period}", row = "{id:010}", allow_append_only)]
struct Goal {
    period: Period,
    id: u32,
}

/// The mark belongs to the second of two rows.
#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}", allow_duplicate)]
#[row(by_days, key = "DAYS:{day:05}", allow_duplicate)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
