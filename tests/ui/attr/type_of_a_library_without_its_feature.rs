use jiff::Timestamp;
use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "visits", partition = "{visitor}", row = "{id:05}")]
struct Visit {
    visitor: String,
    id: u32,
    at: Timestamp,
}

fn main() {}
