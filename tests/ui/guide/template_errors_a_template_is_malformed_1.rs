#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "BIB:{bib:05")]
struct Runner { race: String, bib: u32 }
use table_orm::TableEntity;

fn main() {}
