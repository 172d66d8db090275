use table_orm::{TableEntity, shares_table};

#[derive(TableEntity)]
#[table(
    name = "members",
    partition = "{club}",
    row = "ID:{id:08}",
    unique(email, across, table = "emails")
)]
struct Member {
    club: String,
    id: u32,
    email: String,
}

#[derive(TableEntity)]
#[table(
    name = "trainers",
    partition = "{club}",
    row = "ID:{id:08}",
    unique(email, across, table = "emails")
)]
struct Trainer {
    club: String,
    id: u32,
    email: String,
}

#[derive(TableEntity)]
#[table(
    name = "guests",
    partition = "{club}",
    row = "ID:{id:08}",
    unique(guest, across, table = "emails")
)]
struct Guest {
    club: String,
    id: u32,
    guest: String,
}

shares_table!(Member, Trainer, Guest);

fn main() {}
