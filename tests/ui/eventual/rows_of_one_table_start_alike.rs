use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "IN:{room}")]
#[row(by_room, partition = "{room}", key = "IN:{user}", eventual)]
struct Member {
    user: String,
    room: String,
}

fn main() {}
