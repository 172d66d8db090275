#[derive(TableEntity)]
#[table(name = "depths", partition = "{lake}", row = "{metres}")]
struct Depth { lake: String, metres: i32 }
use table_orm::TableEntity;

fn main() {}
