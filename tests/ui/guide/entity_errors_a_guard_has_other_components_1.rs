#[derive(TableEntity)]
#[table(name = "books", partition = "{library}", unique(isbn, key = "ISBN:{isbn}__{id}"))]
#[row(by_id, key = "ID:{id:06}")]
struct Book { library: String, id: u32, isbn: String }
use table_orm::TableEntity;

fn main() {}
