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
    #[projection(slots(20..26))]
    load: [Option<f64>; 6],
}

#[derive(Projection)]
#[projection(of = Day)]
struct Noon {
    #[projection(slots(11..13))]
    load: [Option<f64>; 3],
}

#[derive(Projection)]
#[projection(of = Day)]
struct Whole {
    #[projection(series)]
    load: [Option<f64>; 12],
}

fn main() {}
