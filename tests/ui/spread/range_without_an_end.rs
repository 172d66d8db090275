use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "events", partition = "{slot}", row = "{at}")]
#[component(slot = spread(at, second))]
struct Event {
    at: OffsetDateTime,
}

fn main() {
    let gun = OffsetDateTime::UNIX_EPOCH;
    Event::row_in(gun..);
    Event::partitions(..gun);
}
