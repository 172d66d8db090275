use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day}")]
#[component(day = desc(day))]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
