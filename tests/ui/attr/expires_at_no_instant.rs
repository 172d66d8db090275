use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "ID:{id:05}", expires = seconds)]
struct Session {
    user: String,
    id: u32,
    seconds: u32,
}

fn main() {}
