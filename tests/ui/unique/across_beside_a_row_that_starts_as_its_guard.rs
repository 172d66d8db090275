#[derive(table_orm::TableEntity)]
#[table(name = "users", partition = "{id}", row = "U", unique(login, across))]
struct User {
    id: u64,
    login: String,
}

fn main() {}
