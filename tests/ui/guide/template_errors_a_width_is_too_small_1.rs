#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:04}")]
struct Runner {
    race: String,
    #[table(max = 99_999)]
    bib: u32,
}
use table_orm::TableEntity;

fn main() {}
