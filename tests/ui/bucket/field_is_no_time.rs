use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{id:05}", bucket(day, id))]
struct Numbered {
    sensor: String,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "{id:05}", bucket(day, at))]
struct Sparse {
    sensor: String,
    id: u32,
    at: Option<OffsetDateTime>,
}

fn main() {}
