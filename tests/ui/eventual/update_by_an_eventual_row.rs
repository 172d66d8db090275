use table_orm::{Repo, TableEntity};

#[derive(Clone, TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
#[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
struct Member {
    user: String,
    room: String,
    admin: bool,
}

async fn promote(members: &Repo<Member>) {
    let _ = members.update(Member::by_room("kitchen").user("ann"), |member| member.admin = true);
}

fn main() {}
