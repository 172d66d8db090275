use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "events", partition = "{slot}", row = "{at}")]
#[component(slot = spread(at, minute))]
struct Event {
    at: OffsetDateTime,
}

fn main() {}
