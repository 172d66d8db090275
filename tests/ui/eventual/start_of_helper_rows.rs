use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "DUE:{user}", eventual)]
#[row(of_room, partition = "{room}", key = "TKT:{user}", eventual)]
#[row(in_room, partition = "{room}", key = "UNQ:{user}", eventual)]
#[row(to_room, partition = "{room}", key = "MOV:{user}", eventual)]
struct Member {
    user: String,
    room: String,
}

fn main() {}
