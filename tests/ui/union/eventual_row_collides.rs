use table_orm::{TableEntity, shares_table};

#[derive(TableEntity)]
#[table(name = "chat", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
}

#[derive(TableEntity)]
#[table(name = "chat", partition = "{room}", row = "USER:{owner}")]
struct Owner {
    room: String,
    owner: String,
}

shares_table!(Member, Owner);

fn main() {}
