use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_mark, key = "MARK:{mark}__{id:05}", each(mark in marks))]
struct Article {
    blog: String,
    id: u32,
    #[table(json)]
    marks: [f64; 3],
}

fn main() {}
