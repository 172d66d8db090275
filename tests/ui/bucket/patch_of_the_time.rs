use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{id:05}", bucket(month, at))]
struct Reading {
    sensor: String,
    id: u32,
    at: OffsetDateTime,
    celsius: f64,
}

fn patch(at: OffsetDateTime) {
    let _ = ReadingPatch::default().celsius(20.5).at(at);
}

fn main() {}
