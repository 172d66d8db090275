use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "R:{id}{club}", row = "{day:05}")]
struct Run {
    id: ulid::Ulid,
    club: String,
    day: u32,
}

fn main() {}
