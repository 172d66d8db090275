use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", unique = "name")]
#[row(by_day, key = "DAY:{day:05}__{name}")]
struct Run {
    club: String,
    day: u32,
    name: String,
}

fn main() {}
