use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}__{year}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
    year: u16,
}

fn main() {
    let _ = Member::by_room("kitchen");
}
