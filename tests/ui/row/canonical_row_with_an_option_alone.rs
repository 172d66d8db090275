use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "items", partition = "{owner}", row = "{city}__{id}")]
struct Item {
    owner: String,
    id: u32,
    city: Option<String>,
}

fn main() {}
