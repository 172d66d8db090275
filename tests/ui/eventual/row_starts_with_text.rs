use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "{room}")]
#[row(by_room, table = "rooms", partition = "{room}", key = "{user}", eventual)]
struct Member {
    user: String,
    room: String,
}

fn main() {}
