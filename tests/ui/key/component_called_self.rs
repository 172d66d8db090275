use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{clubb}", row = "{self}{type}")]
#[component(self = desc(day), type = desc(bib))]
struct Run {
    club: String,
    day: u32,
    bib: u32,
}

fn main() {}
