use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
struct Run {
    club: String,
    day: u32,
    #[table(chunked, max_len = 10)]
    notes: String,
}

fn main() {}
