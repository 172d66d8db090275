use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}")]
#[row(by_club, partition = "{day}", key = "CLUB:{club}", canonical, eventual)]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
