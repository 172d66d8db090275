use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "N:{name}", escape = encode)]
struct Run {
    club: String,
    #[table(max_len = 171)]
    name: String,
}

fn main() {}
