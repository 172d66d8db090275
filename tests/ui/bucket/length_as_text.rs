use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{at}", bucket = "month")]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month))]
struct Other {
    sensor: String,
    at: OffsetDateTime,
}

fn main() {}
