use table_orm::TableEntity;

fn is_long(day: u32) -> bool {
    day > 9
}

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}")]
#[row(long, key = "LONG:{day:05}", when = is_long)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
