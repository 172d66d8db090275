use table_orm::TableEntity;

struct Shoes;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    shoes: Shoes,
}

fn main() {}
