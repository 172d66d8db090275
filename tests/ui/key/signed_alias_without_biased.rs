use table_orm::TableEntity;

type Meters = i32;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{height}")]
struct Run {
    club: String,
    height: Meters,
}

fn main() {}
