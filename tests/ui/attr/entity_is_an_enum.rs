use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{day:05}")]
enum Run {
    Club,
}

fn main() {}
