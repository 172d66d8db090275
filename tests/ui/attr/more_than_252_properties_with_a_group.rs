use table_orm::{Properties, TableEntity};

const MINUTES: usize = 250;

#[derive(Properties)]
struct Minutes {
    #[table(series)]
    minute: [Option<u32>; MINUTES],
}

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    city: String,
    #[table(flatten)]
    minutes: Minutes,
}

fn main() {}
