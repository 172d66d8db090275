use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{date}__{club}", row = "{day:05}")]
struct Run {
    date: time::Date,
    club: String,
    day: u32,
}

fn main() {}
