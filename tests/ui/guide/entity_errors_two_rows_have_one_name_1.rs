#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_bib, key = "AGE:{age:03}__{bib:05}")]
struct Runner { race: String, bib: u32, age: u8 }
use table_orm::TableEntity;

fn main() {}
