use table_orm::{KeyPart, TableEntity};
use time::OffsetDateTime;

#[derive(KeyPart)]
enum Region {
    #[key("EU")]
    Europe,
}

#[derive(KeyPart)]
enum Half {
    #[key("1")]
    First,
    #[key("2")]
    Second,
}

#[derive(KeyPart)]
enum Period {
    #[key("1")]
    First,
    #[key("2")]
    Second,
    #[key("3")]
    Third,
}

#[derive(KeyPart)]
struct At(OffsetDateTime);

#[derive(TableEntity)]
#[table(name = "bills", partition = "{paid}-{at}", row = "{id:010}")]
struct Bill {
    paid: bool,
    at: OffsetDateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{half}-{newest}", row = "{id:010}")]
#[component(half = shard(id, 2), newest = desc(at))]
struct Reading {
    at: OffsetDateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "visits", partition = "{open}-{year:04}", row = "{id:010}")]
struct Visit {
    open: bool,
    year: u16,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "shops", partition = "{region}-{at}", row = "{id:010}")]
struct Shop {
    region: Region,
    at: OffsetDateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "goals", partition = "{region}-{half}-{at}", row = "{id:010}")]
struct Goal {
    region: Region,
    half: Half,
    at: At,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "fouls", partition = "{paid}-{at}", row = "{id:010}")]
struct Foul {
    paid: bool,
    at: At,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "offers", partition = "{region}-{half}", row = "{id:010}")]
#[component(half = shard(id, 2))]
struct Offer {
    region: Region,
    id: u32,
}

/// Accepted, or with enough values before the clock.
#[derive(TableEntity)]
#[table(name = "taxes", partition = "{region}-{at}", row = "{id:010}", allow_append_only)]
struct Tax {
    region: Region,
    at: At,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "games", partition = "{period}-{at}", row = "{id:010}")]
struct Game {
    period: Period,
    at: OffsetDateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "passes", partition = "{paid}-{half}-{at}", row = "{id:010}")]
struct Pass {
    paid: bool,
    half: Half,
    at: OffsetDateTime,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "chips", partition = "{share}-{at}", row = "{id:010}")]
#[component(share = shard(id, 3))]
struct Chip {
    at: OffsetDateTime,
    id: u32,
}

fn main() {}
