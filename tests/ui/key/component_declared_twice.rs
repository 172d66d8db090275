use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{newest}")]
#[component(newest = desc(day), newest = asc(day))]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
