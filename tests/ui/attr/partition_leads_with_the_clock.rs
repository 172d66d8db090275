use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{started}__{club}", row = "{day:05}")]
struct Run {
    started: time::OffsetDateTime,
    club: String,
    day: u32,
}

fn main() {}
