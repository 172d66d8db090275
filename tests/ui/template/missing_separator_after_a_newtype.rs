use table_orm::TableEntity;

#[derive(table_orm::KeyPart)]
struct Shoe(String);

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "SHOE:{shoe}{day:05}")]
struct Run {
    club: String,
    day: u32,
    shoe: Shoe,
}

fn main() {}
