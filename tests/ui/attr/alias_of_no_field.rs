use table_orm::TableEntity;

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib}")]
struct Runner {
    #[table(alias = "PartitionKey")]
    race: String,
    #[table(alias = "Entity_Kind")]
    bib: u32,
    #[table(alias = "first-name")]
    name: String,
    #[table(alias)]
    city: String,
}

fn main() {}
