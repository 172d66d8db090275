use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_club, key = "CLUB:{club}__{bib:05}", allow_key_conflict)]
struct Runner {
    race: String,
    bib: u32,
    club: String,
}

fn main() {}
