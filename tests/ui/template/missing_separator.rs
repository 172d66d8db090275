use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "DAY:{day}{name}")]
struct Run {
    club: String,
    day: u32,
    name: String,
}

fn main() {}
