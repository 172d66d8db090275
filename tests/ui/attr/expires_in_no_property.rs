use table_orm::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "ID:{until}", expires = until)]
struct Session {
    user: String,
    #[table(key_only)]
    until: OffsetDateTime,
}

fn main() {}
