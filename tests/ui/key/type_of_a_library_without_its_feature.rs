use jiff::Timestamp;
use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "visits", partition = "{visitor}", row = "{at}")]
struct Visit {
    visitor: String,
    #[table(key_only)]
    at: Timestamp,
}

fn main() {}
