use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_word, key = "WORD:{word}__{id:05}", each(label in labels))]
#[row(by_other, key = "OTH:{word}__{id:05}")]
#[component(word = lower(label))]
struct Article {
    blog: String,
    id: u32,
    #[table(json)]
    labels: Vec<String>,
}

fn main() {}
