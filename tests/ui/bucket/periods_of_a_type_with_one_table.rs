use table_orm::{TableEntity, Tables};
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{at}")]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
}

fn periods(tables: &Tables) {
    tables.periods::<Reading>();
}

fn main() {}
