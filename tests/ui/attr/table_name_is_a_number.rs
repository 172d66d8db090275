use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = 5, partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
