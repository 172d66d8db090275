use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_both, key = "BOTH:{label}__{year:04}__{id:05}", each(label in labels), each(year in years))]
struct Article {
    blog: String,
    id: u32,
    #[table(json)]
    labels: Vec<String>,
    #[table(series)]
    years: Vec<u16>,
}

fn main() {}
