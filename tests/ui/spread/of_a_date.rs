use table_orm::TableEntity;
use time::Date;

#[derive(TableEntity)]
#[table(name = "events", partition = "{slot}", row = "{day}")]
#[component(slot = spread(day, second))]
struct Event {
    day: Date,
}

fn main() {}
