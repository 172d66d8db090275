#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}")]
struct Runner { race: String, bib: u32, club: Club }

struct Club { name: String, city: String }
use table_orm::TableEntity;

fn main() {}
