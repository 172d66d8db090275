use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}")]
#[row(by_day, key = "DAY:{day:05}")]
#[row(by_bib, key = "BIB:{bib:05}", include("day"))]
struct Run {
    club: String,
    day: u32,
    bib: u32,
}

fn main() {}
