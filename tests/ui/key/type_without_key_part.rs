use table_orm::TableEntity;

struct Shoe;

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "{shoe}")]
struct Run {
    club: String,
    #[table(key_only)]
    shoe: Shoe,
}

fn main() {}
