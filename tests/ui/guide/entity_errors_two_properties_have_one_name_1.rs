#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}")]
struct Runner {
    race: String,
    bib: u32,
    #[table(rename = "Bib")]
    old_bib: Option<u32>,
}
use table_orm::TableEntity;

fn main() {}
