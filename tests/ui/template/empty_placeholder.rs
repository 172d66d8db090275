use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "DAY:{}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
