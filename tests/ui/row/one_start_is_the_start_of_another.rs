use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}")]
#[row(by_days, key = "DAY:S:{day:05}", allow_duplicate)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
