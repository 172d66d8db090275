use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
