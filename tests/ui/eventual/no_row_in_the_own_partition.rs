use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_club, partition = "{day}", key = "CLUB:{club}", eventual)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
