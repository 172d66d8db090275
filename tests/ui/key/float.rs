use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{pace}")]
struct Run {
    club: String,
    pace: f64,
}

fn main() {}
