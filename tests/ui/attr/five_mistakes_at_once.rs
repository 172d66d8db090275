use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "my-runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:5}")]
#[row(by_pace, key = "PACE:{pace}")]
struct Run {
    club: String,
    day: u32,
    pace: f64,
    #[table(max_len = 10)]
    meters: u32,
    #[table(rename = "Meters")]
    feet: u32,
}

fn main() {}
