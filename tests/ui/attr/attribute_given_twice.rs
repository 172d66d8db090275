use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
#[table(name = "walks")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
