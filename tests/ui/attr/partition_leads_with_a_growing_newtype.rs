use table_orm::{KeyPart, TableEntity};
use time::OffsetDateTime;

#[derive(KeyPart)]
struct At(OffsetDateTime);

#[derive(TableEntity)]
#[table(name = "events", partition = "{at}", row = "{id:010}")]
struct Event {
    at: At,
    id: u32,
}

/// Counted up by another program.
#[derive(KeyPart)]
#[key(grows)]
struct Number(u64);

#[derive(TableEntity)]
#[table(name = "orders", partition = "ORDER:{number:020}__{line:03}", row = "{id:010}")]
struct Order {
    number: Number,
    line: u16,
    id: u32,
}

/// A UUID of version 7. Its type does not say so.
#[derive(KeyPart)]
#[key(grows)]
struct Uuid7(uuid::Uuid);

#[derive(TableEntity)]
#[table(name = "scores", partition = "{id}", row = "{line:03}")]
struct Score {
    id: Uuid7,
    line: u16,
}

mod ids {
    #[derive(table_orm::KeyPart)]
    #[key(grows)]
    pub struct Uuid(uuid::Uuid);
}

#[derive(TableEntity)]
#[table(name = "games", partition = "{id}", row = "{line:03}")]
struct Game {
    id: ids::Uuid,
    line: u16,
}

#[derive(TableEntity)]
#[table(name = "bills", partition = "{number:020}", row = "{id:010}", allow_append_only)]
struct Bill {
    number: Number,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{device}__{at}", row = "{id:010}")]
struct Reading {
    device: String,
    at: At,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "chips", partition = "{share}__{number}", row = "{id:010}")]
#[component(share = shard(number, 16))]
struct Chip {
    number: Number,
    id: u32,
}

fn main() {}
