#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_club, partition = "{club}", key = "CLUB:{bib:05}", eventual)]
struct Runner { race: String, bib: u32, club: String }
use table_orm::TableEntity;

fn main() {}
