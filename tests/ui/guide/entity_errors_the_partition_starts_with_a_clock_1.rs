#[derive(TableEntity)]
#[table(name = "readings", partition = "{at}", row = "{sensor}")]
struct Reading { at: OffsetDateTime, sensor: String }
use table_orm::TableEntity;
use time::OffsetDateTime;

fn main() {}
