use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}")]
#[row(by_metres, key = "M:{metres:06}__{day:05}", include(day))]
struct Run {
    #[table(key_only)]
    club: String,
    #[table(key_only)]
    day: u32,
    metres: u32,
}

fn main() {}
