use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{newest}")]
#[component(newest = desc(day, club))]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
