use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}", escape = percent)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
