#[derive(TableEntity)]
#[table(name = "pages", partition = "{site}", row = "{title}__{version:03}")]
struct Page {
    site: String,
    #[table(max_len = 600)]
    title: String,
    version: u32,
}
use table_orm::TableEntity;

fn main() {}
