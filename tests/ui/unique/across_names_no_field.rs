use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "users", partition = "{id}", row = "USER", unique(across))]
struct User {
    id: String,
    name: String,
}

fn main() {}
