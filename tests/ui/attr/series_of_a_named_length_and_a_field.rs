use table_orm::TableEntity;

const LAPS: usize = 9;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    #[table(rename = "Lap08")]
    last: u32,
    #[table(series)]
    lap: [Option<u32>; LAPS],
}

fn main() {}
