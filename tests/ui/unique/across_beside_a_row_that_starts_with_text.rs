use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "users", partition = "{id}", row = "{name}", unique(name, across))]
struct User {
    id: String,
    name: String,
}

fn main() {}
