fn find(repo: &Repo<Runner>) {
    let race = Runner::partition("Boston");
    let _ = repo.list(race.row());
}
use table_orm::{Repo, TableEntity};
#[derive(Debug, TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}__{name}")]
#[row(by_name, key = "NAME:{name}__{bib:05}")]
#[row(by_age, key = "AGE:{age}__{bib:05}")]
struct Runner { race: String, bib: u32, name: String, age: u8 }

fn main() {}
