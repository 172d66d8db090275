#[derive(TableEntity)]
#[table(name = "race-runners", partition = "{race}", row = "{bib:05}")]
struct Runner { race: String, bib: u32 }
use table_orm::TableEntity;

fn main() {}
