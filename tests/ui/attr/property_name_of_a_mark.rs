use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}", kind = "")]
struct Run {
    club: String,
    day: u32,
    #[table(rename = "Moved_To")]
    note: String,
    #[table(rename = "Entity_Kind")]
    kind: String,
}

fn main() {}
