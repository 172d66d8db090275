use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_letter, key = "LET:{letter}__{id:05}", each(letter in title))]
struct Article {
    blog: String,
    id: u32,
    title: String,
}

fn main() {}
