use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partitions = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
