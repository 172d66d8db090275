use table_orm::{Properties, TableEntity};

#[derive(Properties)]
struct Address {
    city: String,
}

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib}")]
struct Runner {
    race: String,
    bib: u32,
    #[table(alias = "City")]
    town: String,
    #[table(flatten)]
    home: Address,
}

fn main() {}
