//! Rows out of step: they are found and repaired, and nothing else is changed.

// Two rows may include the same field; clippy takes the repeated word for a repeated attribute
// (rust-clippy issue 13238).
#![allow(clippy::duplicated_attributes)]

mod backfill;
mod between;
mod concurrently;
mod defaults;
mod drop_row;
mod find;
mod guards;
mod random;
mod repair;
mod versions;
mod write_id;
mod writers;

use std::collections::BTreeMap;
use table_orm::model::Edm;
use table_orm::repo::{Finding, Problem, Table};
use table_orm::{DynamicEntity, Repo, ScanPermit, TableEntity, TableName, Tables};

/// Full, partial and sparse rows, before and behind the canonical one in key order.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}")]
#[row(by_bib, key = "BIB:{bib:05}")]
#[row(by_age, key = "AGE:{age:03}__{bib:05}")]
#[row(by_name, key = "NAME:{name}__{bib:05}", include(name, age))]
#[row(by_city, key = "CITY:{city}__{bib:05}", exclude(name))]
#[row(seniors, key = "SEN:{bib:05}", include(name), when = is_senior)]
pub struct Runner {
    pub race: String,
    #[table(max = 99_999)]
    pub bib: u32,
    pub name: String,
    pub age: u8,
    pub city: Option<String>,
    pub pace: f64,
    pub chip: u64,
    pub updates: u32,
}

fn is_senior(runner: &Runner) -> bool {
    runner.age >= 65
}

pub fn runner(race: &str, bib: u32, age: u8) -> Runner {
    Runner {
        race: race.to_owned(),
        bib,
        name: format!("Runner {bib}"),
        age,
        city: bib.is_multiple_of(2).then(|| "Oslo".to_owned()),
        pace: if bib.is_multiple_of(3) { f64::NAN } else { f64::from(bib) },
        chip: 1 << 40,
        updates: 0,
    }
}

pub struct Subject {
    pub tables: Tables,
    pub repo: Repo<Runner>,
    pub rows: Table,
}

impl Subject {
    pub async fn of(tables: Tables) -> Self {
        let repo = tables.repo::<Runner>();
        repo.create_table().await.unwrap();
        let rows = tables.table(repo.table().clone());
        Self { tables, repo, rows }
    }

    pub async fn new() -> Self {
        Self::of(Tables::in_memory().unwrap()).await
    }

    /// With these entities, each written by `insert`.
    pub async fn with(runners: &[Runner]) -> Self {
        let subject = Self::new().await;
        for runner in runners {
            subject.repo.insert(runner).await.unwrap();
        }
        subject
    }

    pub async fn row(&self, race: &str, row_key: &str) -> DynamicEntity {
        self.rows.get(race, row_key).await.unwrap().unwrap()
    }

    /// Deletes a row behind the repository's back.
    pub async fn lose(&self, race: &str, row_key: &str) {
        self.rows.delete(&self.row(race, row_key).await).await.unwrap();
    }

    /// Sets a property behind the repository's back.
    pub async fn set(&self, race: &str, row_key: &str, name: &str, value: impl Into<Edm>) {
        let row = DynamicEntity::new(race, row_key).with(name, value);
        self.rows.merge(&row).await.unwrap();
    }

    /// Removes a property behind the repository's back.
    pub async fn unset(&self, race: &str, row_key: &str, name: &str) {
        let mut row = self.row(race, row_key).await;
        row.properties.remove(name).unwrap();
        self.rows.replace(&row).await.unwrap();
    }

    /// Stores a row's properties under another RowKey too.
    pub async fn copy(&self, race: &str, row_key: &str, to: &str) {
        let mut row = self.row(race, row_key).await;
        row.row_key = to.to_owned();
        self.rows.insert(&row).await.unwrap();
    }

    pub async fn findings(&self) -> Vec<Finding> {
        self.repo.verify_table(permit()).await.unwrap().findings
    }

    /// The findings as `race row_key: problem`, in the order they were made.
    pub async fn problems(&self) -> Vec<String> {
        self.findings().await.iter().map(described).collect()
    }

    /// Everything stored, as text, because NaN does not equal itself.
    pub async fn stored(&self) -> BTreeMap<(String, String), String> {
        stored(&self.tables, self.repo.table()).await
    }
}

pub async fn stored(tables: &Tables, table: &TableName) -> BTreeMap<(String, String), String> {
    let rows = tables.table(table.clone()).scan(permit()).collect().await.unwrap();
    rows.into_iter()
        .map(|row| ((row.partition_key, row.row_key), format!("{:?}", row.properties)))
        .collect()
}

pub fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

pub fn described(finding: &Finding) -> String {
    let Finding { partition_key, row_key, problem, .. } = finding;
    format!("{partition_key} {row_key}: {problem}")
}

/// The kind of a problem, without its particulars.
pub fn kind(problem: &Problem) -> &'static str {
    match problem {
        Problem::Missing => "missing",
        Problem::Orphan => "orphan",
        Problem::Stale { .. } => "stale",
        Problem::WrongProjection { .. } => "wrong projection",
        Problem::Unreadable { .. } => "unreadable",
        Problem::Unwritable { .. } => "unwritable",
        Problem::KeyMismatch { .. } => "key mismatch",
        _ => "other",
    }
}
