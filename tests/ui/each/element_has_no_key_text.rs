use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "articles", partition = "{blog}")]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_place, key = "AT:{place}__{id:05}", each(place in places))]
struct Article {
    blog: String,
    id: u32,
    #[table(json)]
    places: Vec<(u32, u32)>,
}

fn main() {}
