use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    #[table(series, chunked)]
    laps: Vec<u32>,
}

fn main() {}
