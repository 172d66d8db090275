use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "DUE:{user}", eventual)]
#[row(of_room, partition = "{room}", key = "TKT:{user}", eventual, allow_duplicate)]
#[row(in_room, partition = "{room}", key = "UNQ:{user}", eventual, allow_duplicate)]
#[row(to_room, partition = "{room}", key = "MOV:{user}", eventual, allow_duplicate)]
struct Member {
    user: String,
    room: String,
}

fn main() {}
