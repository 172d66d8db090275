#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "{room}")]
#[row(by_room, table = "rooms", partition = "{room}", key = "USER:{user}", eventual)]
struct Member { user: String, room: String }
use table_orm::TableEntity;

fn main() {}
