fn store(repo: &Repo<Runner>, runner: Runner) {
    let _ = repo.save(runner);
}

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}")]
struct Runner { race: String, bib: u32 }
use table_orm::{Repo, TableEntity};

fn main() {}
