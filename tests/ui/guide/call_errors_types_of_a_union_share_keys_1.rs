#[derive(TableUnion)]
enum Entry {
    Account(Account),
    Move(Move),
}

#[derive(TableEntity)]
#[table(name = "accounts", partition = "{owner}", row = "{number}")]
struct Account { owner: String, number: u32, cents: i64 }

#[derive(TableEntity)]
#[table(name = "accounts", partition = "{owner}", row = "{id}")]
struct Move { owner: String, id: u64, cents: i64 }
use table_orm::{TableEntity, TableUnion};

fn main() {}
