use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{up:08}_{club}", row = "{day:05}")]
#[component(up = asc(number))]
struct Run {
    number: u64,
    club: String,
    day: u32,
}

fn main() {}
