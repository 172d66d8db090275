#[derive(TableEntity)]
#[table(name = "runners", partition = "{rcae}", row = "{bib:05}")]
struct Runner { race: String, bib: u32 }
use table_orm::TableEntity;

fn main() {}
