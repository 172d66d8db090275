use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: Option<String>,
    day: u32,
}

fn main() {}
