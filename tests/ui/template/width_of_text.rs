use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "NAME:{name:05}")]
struct Run {
    club: String,
    name: String,
}

fn main() {}
