use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{last}")]
#[component(last = desc(name))]
struct Run {
    club: String,
    name: String,
}

fn main() {}
