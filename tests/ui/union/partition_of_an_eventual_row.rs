use table_orm::{TableEntity, TableUnion, Tables};

#[derive(TableEntity)]
#[table(name = "members", partition = "{user}", row = "ROOM:{number:05}")]
#[row(by_room, partition = "{room}", key = "USER:{user}__{number:05}", eventual)]
struct Member {
    user: String,
    number: u32,
    room: String,
}

#[derive(TableUnion)]
enum Hall {
    Member(Member),
}

fn main() {
    let tables = Tables::in_memory().unwrap();
    let _ = tables.union::<Hall>(Member::by_room("kitchen"));
}
