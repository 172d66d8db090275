use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "CLUB:{club}", row = "{day:05}")]
struct Run {
    #[table(max_len = 508)]
    club: String,
    day: u32,
}

fn main() {}
