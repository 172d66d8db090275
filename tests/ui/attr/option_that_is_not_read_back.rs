use std::collections::BTreeMap;
use table_orm::TableEntity;
use table_orm::model::Edm;

#[derive(TableEntity)]
#[table(name = "people", partition = "{team}", row = "{id:05}")]
struct Person {
    team: String,
    id: u32,
    age: Option<Option<u8>>,
    #[table(chunked)]
    photo: Option<Option<Vec<u8>>>,
    #[table(json)]
    answer: Option<Option<bool>>,
    #[table(json, chunked)]
    answers: Option<Option<Vec<bool>>>,
    #[table(series)]
    hours: [Option<Option<u8>>; 4],
    #[table(flatten)]
    rest: Option<BTreeMap<String, Edm>>,
}

fn main() {}
