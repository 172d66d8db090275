fn to_another_day(patch: DayPatch) -> DayPatch {
    patch.day(20_779)
}
use table_orm::TableEntity;
#[derive(TableEntity)]
#[table(name = "loads", partition = "{host}", row = "{day:05}")]
struct Day { host: String, day: u32, alarms: Option<u32> }

fn main() {}
