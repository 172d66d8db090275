#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{name}/{bib:05}")]
struct Runner { race: String, name: String, bib: u32 }
use table_orm::TableEntity;

fn main() {}
