fn find(repo: &Repo<Runner>) {
    let race = Runner::partition("Boston");
    let _ = repo.list(race).filter(|runner| runner.city.is_none());
}

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}")]
struct Runner { race: String, bib: u32, city: Option<String> }
use table_orm::{Repo, TableEntity};

fn main() {}
