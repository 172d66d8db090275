use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{down}_{club}", row = "{day:05}")]
#[component(down = desc(number))]
struct Run {
    number: u64,
    club: String,
    day: u32,
}

fn main() {}
