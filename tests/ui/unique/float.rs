use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", unique(speed))]
#[row(by_day, key = "DAY:{day:05}__{name}")]
struct Run {
    club: String,
    day: u32,
    name: String,
    speed: f64,
}

fn main() {}
