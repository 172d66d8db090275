#[derive(TableEntity)]
#[table(name = "days", partition = "{sensor}", row = "{day}")]
struct Day {
    sensor: String,
    day: Date,
    #[table(series)]
    minutes: [Option<i32>; 253],
}
use table_orm::TableEntity;
use time::Date;

fn main() {}
