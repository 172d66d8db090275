use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "users", partition = "{id}", row = "USER", unique(name, table = "names"))]
struct User {
    id: String,
    name: String,
}

fn main() {}
