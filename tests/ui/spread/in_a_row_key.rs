use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "events", partition = "{name}", row = "{slot}__{at}")]
#[component(slot = spread(at, second))]
struct Event {
    name: String,
    at: OffsetDateTime,
}

fn main() {}
