use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "events", partition = "{slot}__{share}", row = "{at}__{sensor}")]
#[component(slot = spread(at, second), share = shard(sensor, 8))]
struct Event {
    at: OffsetDateTime,
    sensor: u32,
}

fn main() {}
