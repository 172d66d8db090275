use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "events", partition = "{share}__{other}", row = "{id:010}")]
#[component(share = shard(id, 8), other = shard(day, 8))]
struct Event {
    day: u32,
    id: u32,
    weight: f64,
}

fn main() {}
