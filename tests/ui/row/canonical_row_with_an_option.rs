use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "items", partition = "{owner}")]
#[row(by_city, key = "CITY:{city}__{id}")]
#[row(by_id, key = "ID:{id}")]
struct Item {
    owner: String,
    id: u32,
    city: Option<String>,
}

fn main() {}
