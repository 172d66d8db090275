use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "users", partition = "{id}", row = "USER", unique(a_b, across), unique(a, b, across))]
struct User {
    id: String,
    a: u32,
    b: u32,
    a_b: u32,
}

fn main() {}
