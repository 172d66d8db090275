use table_orm::{TableUnion, shares_table};

mod before {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "chat", partition = "{user}", row = "OLD:{room:05}")]
    #[row(by_room, partition = "R:{room:05}", key = "OLDUSER:{user}", eventual)]
    pub struct Member {
        user: String,
        room: u32,
    }
}

mod now {
    use table_orm::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "chat", partition = "{user}", row = "USER", unique(badge, across))]
    pub struct Member {
        user: String,
        badge: u32,
    }
}

shares_table!(before::Member, now::Member);

#[derive(TableUnion)]
enum Members {
    Before(before::Member),
    Now(now::Member),
}

fn main() {}
