use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "sessions", partition = "{user}", expires = until)]
#[row(by_id, key = "ID:{id:05}")]
#[row(by_device, key = "DEV:{device}", exclude(until))]
struct Session {
    user: String,
    id: u32,
    device: String,
    until: OffsetDateTime,
}

fn main() {}
