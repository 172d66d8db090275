//! Profiles of what a table stores: each row counted once, as what it is.

mod components;
mod kinds;
mod locked;
mod random;
mod tables;

use table_orm::profile::{KindProfile, ProfileReport, RowRole};
use table_orm::{ScanPermit, TableEntity};

/// A runner, with copies, guards of both kinds, a row in another partition, totals and events.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(
    name = "runners",
    partition = "{race}",
    unique(chip),
    unique(email, across),
    sums = Runner::SUMS,
    outbox
)]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_age, key = "AGE:{age:03}__{bib:05}", include(name))]
#[row(by_team, partition = "TEAM:{team}", key = "RUN:{race}__{bib:05}", eventual)]
struct Runner {
    race: String,
    bib: u32,
    age: u8,
    chip: u32,
    email: String,
    team: Option<String>,
    name: String,
}

impl Runner {
    const COUNT: table_orm::Sum<Self> = table_orm::Sum::count("runners");
    const SUMS: &'static [table_orm::Sum<Self>] = &[Self::COUNT];
}

fn runner(race: &str, bib: u32) -> Runner {
    Runner {
        race: race.into(),
        bib,
        age: 30 + (bib % 40) as u8,
        chip: 1000 + bib,
        email: format!("{bib}@{race}.org"),
        team: bib.is_multiple_of(2).then(|| "red".to_owned()),
        name: format!("Runner {bib}"),
    }
}

fn because() -> ScanPermit {
    ScanPermit::because("test")
}

/// The kinds of that role: their names, and how many rows each has.
fn kinds(report: &ProfileReport, role: RowRole) -> Vec<(&str, u64)> {
    let of_role = |kind: &&KindProfile| kind.role == role;
    report.kinds.iter().filter(of_role).map(|kind| (kind.name.as_str(), kind.rows)).collect()
}
