fn find(repo: &Repo<Runner>) {
    let race = Runner::partition("Boston");
    let _ = repo.list(race).filter(|runner| runner.city == "Oslo");
}

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}")]
struct Runner { race: String, bib: u32, city: String }
use table_orm::{Repo, TableEntity};

fn main() {}
