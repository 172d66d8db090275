#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_name, key = "{name}")]
struct Runner { race: String, bib: u32, name: String }
use table_orm::TableEntity;

fn main() {}
