use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "DAY/{day:05}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
