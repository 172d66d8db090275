use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{clbu}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
