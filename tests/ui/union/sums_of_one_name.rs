use table_orm::{Sum, TableEntity, shares_table};

#[derive(TableEntity)]
#[table(name = "sales", partition = "{shop}", row = "CASH:{id:08}", sums = Cash::SUMS)]
struct Cash {
    shop: String,
    id: u32,
    cents: i64,
}

impl Cash {
    const SUMS: &'static [Sum<Self>] = &[Sum::count("payments"), Sum::of("cents", |cash| cash.cents)];
}

#[derive(TableEntity)]
#[table(name = "sales", partition = "{shop}", row = "CARD:{id:08}", sums = Self::SUMS)]
struct Card {
    shop: String,
    id: u32,
    cents: i64,
}

impl Card {
    const SUMS: &'static [Sum<Self>] = &[Sum::of("cents", |card| card.cents)];
}

#[derive(TableEntity)]
#[table(name = "sales", partition = "{shop}", row = "GIFT:{id:08}", sums = Self::SUMS)]
struct Gift {
    shop: String,
    id: u32,
}

impl Gift {
    const SUMS: &'static [Sum<Self>] = &[Sum::count("gifts")];
}

shares_table!(Cash, Card, Gift);

fn main() {}
