use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{note}")]
struct Run {
    club: String,
    day: u32,
    #[table(skip)]
    note: String,
}

fn main() {}
