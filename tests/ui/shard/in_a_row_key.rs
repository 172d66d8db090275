use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "events", partition = "{day:05}", row = "{share}__{id:010}", allow_append_only)]
#[component(share = shard(id, 8))]
struct Event {
    day: u32,
    id: u32,
    weight: f64,
}

fn main() {}
