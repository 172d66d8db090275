#[derive(TableEntity)]
#[table(name = "items", partition = "{owner}", row = "{r#type}")]
struct Item { owner: String, r#type: String }
use table_orm::TableEntity;

fn main() {}
