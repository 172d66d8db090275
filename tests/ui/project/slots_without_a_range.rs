use table_orm::{Projection, TableEntity};

#[derive(TableEntity)]
#[table(name = "loads", partition = "{meter}", row = "{day:05}")]
struct Day {
    meter: String,
    day: u32,
    #[table(series)]
    load: [Option<f64>; 24],
}

#[derive(Projection)]
#[projection(of = Day)]
struct Night {
    #[projection(slots = 20)]
    load: [Option<f64>; 4],
}

fn main() {}
