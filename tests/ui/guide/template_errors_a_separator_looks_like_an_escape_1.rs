#[derive(TableEntity)]
#[table(name = "files", partition = "{folder}", row = "{name}~{version:03}", escape = encode)]
struct File { folder: String, name: String, version: u32 }
use table_orm::TableEntity;

fn main() {}
