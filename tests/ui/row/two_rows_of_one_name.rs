use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "A:{day:05}")]
#[row(by_day, key = "B:{day:05}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
