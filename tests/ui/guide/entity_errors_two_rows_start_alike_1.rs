#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "B{bib:05}")]
#[row(by_birth, key = "BORN{year:04}__{bib:05}")]
struct Runner { race: String, bib: u32, year: u16 }
use table_orm::TableEntity;

fn main() {}
