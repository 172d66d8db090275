#[derive(TableEntity)]
#[table(name = "scores", partition = "{player}", row = "{points:+04}")]
struct Score { player: String, points: u32 }
use table_orm::TableEntity;

fn main() {}
