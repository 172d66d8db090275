use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "ID:{id:05}", expires = untill)]
struct Session {
    user: String,
    id: u32,
    until: OffsetDateTime,
}

fn main() {}
