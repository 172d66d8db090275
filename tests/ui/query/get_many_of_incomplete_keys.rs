#[path = "../race.rs"]
mod race;

use race::*;

fn main() {
    let repo = repo();
    let race = Registration::partition("Boston", Distance::Full);
    repo.get_many([race.by_bib().bib(1), race.by_bib().bib(2)]);
}
