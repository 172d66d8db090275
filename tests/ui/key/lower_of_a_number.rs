use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{low}")]
#[component(low = lower(day))]
struct Run {
    club: String,
    day: u32,
}

fn main() {}
