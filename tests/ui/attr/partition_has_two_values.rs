use table_orm::{KeyPart, TableEntity};

#[derive(TableEntity)]
#[table(name = "invoices", partition = "PAID:{paid}", row = "{id:010}")]
struct Invoice {
    id: u32,
    paid: bool,
}

#[derive(TableEntity)]
#[table(name = "flags", partition = "{on}", row = "{name}", allow_single_partition)]
struct Flag {
    name: String,
    on: bool,
}

#[derive(TableEntity)]
#[table(name = "bills", partition = "{customer}__{paid}", row = "{id:010}")]
struct Bill {
    customer: String,
    id: u32,
    paid: bool,
}

#[derive(KeyPart)]
enum Half {
    #[key("1")]
    First,
    #[key("2")]
    Second,
}

#[derive(TableEntity)]
#[table(name = "goals", partition = "HALF:{half}", row = "{minute:03}")]
struct Goal {
    half: Half,
    minute: u8,
}

/// A newtype of a `bool`.
#[derive(KeyPart)]
struct Won(bool);

#[derive(TableEntity)]
#[table(name = "games", partition = "{won}", row = "{id:010}")]
struct Game {
    won: Won,
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "fouls", partition = "{half}", row = "{minute:03}", allow_single_partition)]
struct Foul {
    half: Half,
    minute: u8,
}

#[derive(TableEntity)]
#[table(name = "passes", partition = "{team}__{half}", row = "{minute:03}")]
struct Pass {
    team: String,
    half: Half,
    minute: u8,
}

#[derive(TableEntity)]
#[table(name = "readings", partition = "{half}", row = "{id:010}")]
#[component(half = shard(id, 2))]
struct Reading {
    id: u32,
}

fn main() {}
