use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{laps}")]
struct Run {
    club: String,
    day: u32,
    #[table(series)]
    laps: Vec<u32>,
}

fn main() {}
