use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "visits", partition = "{visitor}", row = "{id:05}")]
struct Visit {
    visitor: String,
    id: u32,
    at: jiff::Timestamp,
    until: chrono::DateTime<chrono::Utc>,
}

fn main() {}
