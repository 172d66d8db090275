#[derive(TableEntity)]
#[table(name = "orders", partition = "{newest}", row = "{line:03}")]
#[component(newest = desc(number))]
struct Order { number: u64, line: u16 }
use table_orm::TableEntity;

fn main() {}
