fn open<'a>(tables: &Tables, owner: &str) -> Transaction<'a> {
    tables.transaction(Account::partition(owner).row())
}
use table_orm::{TableEntity, Tables, repo::Transaction};
#[derive(TableEntity)]
#[table(name = "accounts", partition = "{owner}", row = "ACCOUNT:{number:04}")]
struct Account { owner: String, number: u32, cents: i64 }

fn main() {}
