use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "items", partition = "{owner}", row = "{r#type}")]
struct Item {
    owner: String,
    r#type: String,
}

fn main() {}
