use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "visits", partition = "{room}", row = "V:{desc(at)}")]
struct Visit {
    room: String,
    at: OffsetDateTime,
}

fn main() {}
