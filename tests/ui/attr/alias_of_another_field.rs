use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib}")]
struct Runner {
    #[table(alias = "Event", alias = "Event")]
    race: String,
    #[table(alias = "Bib", alias = "Split02")]
    bib: u32,
    #[table(alias = "Race")]
    name: String,
    #[table(rename = "Town", alias = "City")]
    town: String,
    #[table(alias = "City")]
    place: String,
    #[table(series)]
    split: [Option<u32>; 4],
}

fn main() {}
