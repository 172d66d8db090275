fn find(repo: &Repo<Runner>) {
    let race = Runner::partition("Boston");
    let _ = repo.list(race).filter(|runner| runner.level.ge(Level::Club));
}

#[derive(KeyPart)]
enum Level { #[key("N")] Novice, #[key("C")] Club }

#[derive(TableEntity)]
#[table(name = "runners", partition = "{race}", row = "{bib:05}")]
struct Runner { race: String, bib: u32, level: Level }
use table_orm::{KeyPart, Repo, TableEntity};

fn main() {}
