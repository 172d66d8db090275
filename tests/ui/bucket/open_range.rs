use table_orm::{TableEntity, Tables};
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
struct Reading {
    sensor: String,
    at: OffsetDateTime,
}

fn since(tables: &Tables, at: OffsetDateTime) {
    let readings = tables.periods::<Reading>();
    readings.during(at..);
    readings.at("2026-11");
}

fn main() {}
