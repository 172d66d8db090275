#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}__{bib:05}")]
struct Runner { race: String, bib: u32 }
use table_orm::TableEntity;

fn main() {}
