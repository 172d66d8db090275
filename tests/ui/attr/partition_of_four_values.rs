use table_orm::{KeyPart, TableEntity};

#[derive(KeyPart)]
enum Season {
    Autumn,
    Spring,
    #[key("X")]
    Summer,
    Winter,
}

#[derive(TableEntity)]
#[table(name = "bills", partition = "{paid}__{sent}", row = "{id:010}")]
struct Bill {
    paid: bool,
    sent: bool,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "visits", partition = "{share}", row = "{id:010}")]
#[component(share = shard(open, 16))]
struct Visit {
    open: bool,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "races", partition = "{season}", row = "{id:010}")]
struct Race {
    season: Season,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "shoes", partition = "{paid}__{sent}", row = "{id:010}", allow_single_partition)]
struct Shoe {
    paid: bool,
    sent: bool,
    id: u32,
}

/// A number of partitions that the user chose.
#[derive(TableEntity)]
#[table(name = "chips", partition = "{share}", row = "{id:010}")]
#[component(share = shard(id, 4))]
struct Chip {
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "games", partition = "{season}__{won}", row = "{id:010}")]
struct Game {
    season: Season,
    won: bool,
    id: u32,
}

fn main() {}
