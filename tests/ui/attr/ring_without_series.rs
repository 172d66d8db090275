use table_orm::TableEntity;
use table_orm::property::{Hours, Ring};

#[derive(TableEntity)]
#[table(name = "loads", partition = "{host}", row = "LOAD")]
struct Load {
    host: String,
    load: Ring<f64, 24, Hours>,
}

fn main() {}
