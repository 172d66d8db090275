use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(months, at))]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
}

fn main() {}
