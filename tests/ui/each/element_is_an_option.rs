use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_year, key = "YEAR:{year:04}__{id:05}", each(year in years))]
struct Article {
    blog: String,
    id: u32,
    #[table(series)]
    years: [Option<u16>; 4],
}

fn main() {}
