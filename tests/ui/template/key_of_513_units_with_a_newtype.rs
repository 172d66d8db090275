use table_orm::TableEntity;

#[derive(table_orm::KeyPart)]
enum Shoe {
    #[key("L")]
    Left,
    #[key("R")]
    Right,
}

#[derive(TableEntity)]
#[table(name = "runs", partition = "{club}", row = "NAME:{name}_{shoe}")]
struct Run {
    club: String,
    #[table(max_len = 506)]
    name: String,
    shoe: Shoe,
}

fn main() {}
