use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{height:05}")]
struct Run {
    club: String,
    height: i32,
}

fn main() {}
