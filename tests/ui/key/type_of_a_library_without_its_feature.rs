use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "visits", partition = "{visitor}", row = "{at}__{until}")]
struct Visit {
    visitor: String,
    #[table(key_only)]
    at: jiff::Timestamp,
    #[table(key_only)]
    until: chrono::DateTime<chrono::Utc>,
}

fn main() {}
