use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
}

fn main() {
    let _ = Member::partition("ann").by_room();
}
