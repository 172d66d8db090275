use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{oldest}_{club}", row = "{day:05}")]
#[component(oldest = asc(started))]
struct Run {
    started: time::OffsetDateTime,
    club: String,
    day: u32,
}

fn main() {}
