use table_orm::TableEntity;
use table_orm::model::Edm;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    weather: Edm,
}

fn main() {}
