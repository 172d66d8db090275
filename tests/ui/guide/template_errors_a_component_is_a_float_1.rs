#[derive(TableEntity)]
#[table(name = "depths", partition = "{lake}", row = "{metres}")]
struct Depth { lake: String, metres: f64 }
use table_orm::TableEntity;

fn main() {}
