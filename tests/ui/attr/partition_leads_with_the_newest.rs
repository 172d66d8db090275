use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{newest}_{club}", row = "{day:05}")]
#[component(newest = desc(started))]
struct Run {
    started: time::OffsetDateTime,
    club: String,
    day: u32,
}

fn main() {}
