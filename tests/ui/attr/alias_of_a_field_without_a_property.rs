use std::collections::BTreeMap;
use table_orm::model::Edm;
use table_orm::{ETag, TableEntity};

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib}")]
struct Runner {
    #[table(key_only, alias = "Event")]
    race: String,
    bib: u32,
    #[table(skip, alias = "Chosen")]
    selected: bool,
    #[table(series, alias = "Laps")]
    splits: [Option<u32>; 4],
    #[table(flatten, alias = "Rest")]
    rest: BTreeMap<String, Edm>,
    #[table(etag, alias = "Version")]
    version: Option<ETag>,
}

fn main() {}
