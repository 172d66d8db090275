use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", unique(laps))]
#[row(by_day, key = "DAY:{day:05}__{name}")]
struct Run {
    club: String,
    day: u32,
    name: String,
    #[table(series)]
    laps: [Option<u32>; 4],
}

fn main() {}
