fn find(repo: &Repo<Runner>) {
    let race = Runner::partition("Boston");
    let _ = repo.list(race.by_name()).project::<Origin>();
}

#[derive(Projection)]
#[projection(of = Runner)]
struct Origin { city: String }

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_name, key = "NAME:{name}__{bib:05}", include(name))]
struct Runner { race: String, bib: u32, name: String, city: String }
use table_orm::{Projection, Repo, TableEntity};

fn main() {}
