use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_label, key = "LAB:{label}__{id:05}", each(label in lables))]
struct Article {
    blog: String,
    id: u32,
    #[table(json)]
    labels: Vec<String>,
}

fn main() {}
