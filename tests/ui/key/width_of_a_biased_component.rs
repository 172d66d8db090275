use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{up:05}")]
#[component(up = biased(height))]
struct Run {
    club: String,
    height: i32,
}

fn main() {}
