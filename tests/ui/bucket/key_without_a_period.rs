use table_orm::model::DateTime;
use table_orm::periods::Periods;
use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{id:05}", bucket(month, at))]
struct Reading {
    sensor: String,
    id: u32,
    at: DateTime,
}

fn get(readings: &Periods<Reading>) {
    readings.get(Reading::partition("roof").row().id(1));
    readings.list(Reading::partition("roof"));
}

fn main() {}
