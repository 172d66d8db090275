#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_club, key = "CLUB:{club}__{bib:05}")]
#[row(by_bib, key = "BIB:{bib:05}")]
struct Runner { race: String, bib: u32, club: Option<String> }
use table_orm::TableEntity;

fn main() {}
