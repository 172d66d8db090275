use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "events", partition = "{share}", row = "{id:010}")]
#[component(share = shard(id))]
struct Event {
    day: u32,
    id: u32,
    weight: f64,
}

fn main() {}
