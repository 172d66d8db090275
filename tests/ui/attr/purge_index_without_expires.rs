use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "ID:{id:05}", purge_index)]
struct Session {
    user: String,
    id: u32,
    until: OffsetDateTime,
}

fn main() {}
