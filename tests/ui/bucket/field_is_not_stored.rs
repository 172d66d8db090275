use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{id:05}", bucket(day, at))]
struct Reading {
    sensor: String,
    id: u32,
    #[table(timestamp)]
    at: Option<OffsetDateTime>,
}

#[derive(TableEntity)]
#[table(name = "visits", partition = "{page}", row = "{id:05}", bucket(day, att))]
struct Visit {
    page: String,
    id: u32,
    at: OffsetDateTime,
}

fn main() {}
