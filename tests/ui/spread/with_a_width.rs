use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "events", partition = "{slot:02}", row = "{at}")]
#[component(slot = spread(at, second))]
struct Event {
    at: OffsetDateTime,
}

fn main() {}
