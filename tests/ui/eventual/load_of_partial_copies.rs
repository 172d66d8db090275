use table_orm::{Repo, TableEntity};

#[derive(Clone, TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "USER:{user}", include(), eventual)]
struct Member {
    user: String,
    room: String,
    admin: bool,
}

async fn load(members: &Repo<Member>) {
    let _ = members.load(Member::by_room("kitchen"));
}

fn main() {}
