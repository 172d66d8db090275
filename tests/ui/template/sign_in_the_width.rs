use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "DAY:{day:+04}")]
struct Run {
    club: String,
    day: i32,
}

fn main() {}
