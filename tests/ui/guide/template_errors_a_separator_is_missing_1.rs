#[derive(TableEntity)]
#[table(name = "seats", partition = "{hall}", row = "{sector}{place}")]
struct Seat { hall: String, sector: String, place: u32 }
use table_orm::TableEntity;

fn main() {}
