use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "people", partition = "{club}", unique(first, last_name), unique(first_last, name))]
#[row(by_id, key = "ID:{id:05}")]
struct Person {
    club: String,
    id: u32,
    first: String,
    last_name: String,
    first_last: String,
    name: String,
}

fn main() {}
