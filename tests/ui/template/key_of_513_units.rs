use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "NAME:{name}")]
struct Run {
    club: String,
    #[table(max_len = 508)]
    name: String,
}

fn main() {}
