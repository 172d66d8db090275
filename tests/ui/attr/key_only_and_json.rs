use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}__{note}")]
struct Run {
    club: String,
    day: u32,
    #[table(key_only, json)]
    note: String,
}

fn main() {}
