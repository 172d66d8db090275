use table_orm::{KeyPart, TableEntity};

#[derive(KeyPart)]
struct Height(i32);

#[derive(TableEntity)]
#[table(name = "events", partition = "{share}", row = "{id:010}")]
#[component(share = shard(height, 8))]
struct Event {
    id: u32,
    height: Height,
}

fn main() {}
