fn open<'a>(tables: &Tables, owner: &str) -> Unit<'a> {
    tables.unit(Account::partition(owner).row())
}
use table_orm::{TableEntity, Tables, repo::Unit};
#[derive(TableEntity)]
#[table(name = "accounts", partition = "{owner}", row = "ACCOUNT:{number:04}")]
struct Account { owner: String, number: u32, cents: i64 }

fn main() {}
