use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "levels", partition = "{house}", row = "L:{number:03}__{and_below}")]
struct Level {
    house: String,
    number: u16,
    and_below: String,
}

fn main() {}
