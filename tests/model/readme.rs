//! The README's program, unchanged, against a store in its worst weather, behind the layers that an
//! account has without a line of the app.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Faults;
use table_orm::store::Store;
use table_orm::{Error, ErrorKind, TableEntity, Tables};

const README: &str = include_str!("../../README.md");
/// The lines of its program that another store replaces, and those that frame it.
const FRAME: [&str; 5] = [
    "use table_orm::{TableEntity, Tables};",
    "",
    "#[tokio::main(flavor = \"current_thread\")]",
    "async fn main() -> table_orm::Result<()> {",
    "let tables = Tables::in_memory()?; // or Tables::open(\"race.redb\")?, or a storage account",
];

#[rustfmt::skip]
mod program {
    use super::{TableEntity, Tables};

// The program.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "registrations", partition = "{event}", unique(bib))] // adds a guard row
#[row(by_bib, key = "BIB:{bib:05}")]            // the canonical row: its ETag protects the entity
#[row(by_age, key = "AGE:{age:03}__{bib:05}")]  // a copy, in another order
struct Registration { event: String, bib: u32, name: String, age: u8 }

pub async fn run(tables: Tables) -> table_orm::Result<()> {
    let repo = tables.repo::<Registration>();
    repo.create_table().await?;
    let john = Registration { event: "New York 2011".into(), bib: 1234, name: "John".into(), age: 55 };
    repo.insert(&john).await?; // three rows, one transaction

    let race = Registration::partition("New York 2011");
    let one = repo.get(race.by_bib().bib(1234)).await?;                        // a point query
    let fifties = repo.list(race.by_age().age_in(50..60)).collect().await?;    // a row range
    assert_eq!((one, fifties), (Some(john.clone()), vec![john]));

    let mut john = repo.load(race.by_bib().bib(1234)).await?.one()?;
    john.age = 56;                // part of a key: one row moves, in one transaction
    repo.save(&mut john).await?;  // fails with `Conflict` if someone else wrote in between
    Ok(())
}
// The end.
}

#[test]
fn the_program_is_the_readmes() {
    let lines = |text: &'static str, from: &str, to: &str| {
        let lines = text.lines().map(str::trim).skip_while(|line| *line != from).skip(1);
        let lines = lines.take_while(|line| *line != to).collect::<Vec<_>>();
        lines.into_iter().filter(|line| !line.is_empty())
    };
    let frame = BTreeSet::from(FRAME);
    let own = lines(include_str!("readme.rs"), "// The program.", "// The end.");
    let own = own.filter(|line| !line.starts_with("pub async fn run("));
    let readme = lines(README, "```rust", "```").filter(|line| !frame.contains(line));
    assert_eq!(own.collect::<Vec<_>>(), readme.collect::<Vec<_>>());
}

/// The RowKeys of the table, in order; empty without a table.
async fn row_keys(store: &Arc<dyn Store>) -> Vec<String> {
    let below = Tables::new(Arc::clone(store));
    let table = below.table("registrations".parse().unwrap());
    let rows = table.list("New York 2011", ..).collect().await.unwrap_or_default();
    rows.into_iter().map(|row| row.row_key).collect()
}

#[test]
fn nothing_is_lost_and_no_outcome_is_half_told_in_the_worst_weather() {
    let (mut faults, mut succeeded) = (0, 0);
    for seed in 0..200 {
        support::on_virtual_time(async {
            let store: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory().unwrap());
            let flaky = Faults::mixed(seed).store(Arc::clone(&store)).unwrap();
            let outcome = program::run(Tables::builder(flaky.clone()).build().unwrap()).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            let stored = row_keys(&store).await;
            let at = |age| [age, "BIB:01234", "UNQ:bib:0000001234"].map(str::to_owned).to_vec();
            let (inserted, saved) = (at("AGE:055__01234"), at("AGE:056__01234"));
            match outcome {
                Ok(()) => {
                    assert_eq!(stored, saved, "seed {seed}");
                    succeeded += 1;
                }
                // It may have taken effect, and what did is whole.
                Err(Error::Ambiguous(_)) => {
                    assert!([vec![], inserted, saved].contains(&stored), "seed {seed}: {stored:?}");
                }
                // It has not, and no call conflicted with itself.
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "seed {seed}: {error}");
                    assert!([vec![], inserted].contains(&stored), "seed {seed}: {stored:?}");
                }
            }
            faults += flaky.injected();
        });
    }
    assert!(faults > 400 && succeeded > 80, "{faults} faults, {succeeded} of 200 succeeded");
}
