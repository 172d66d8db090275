type Metres = f64;

#[derive(TableEntity)]
#[table(name = "depths", partition = "{lake}", row = "{metres}")]
struct Depth { lake: String, metres: Metres }
use table_orm::TableEntity;

fn main() {}
