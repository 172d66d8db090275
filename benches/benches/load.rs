//! A load by many writers, into memory against into a file; then the bytes on disk for each stored
//! byte: after the load, after a day of updates, and compacted.
//!
//! `cargo bench -p benches --bench load [-- ENTITIES]`; 10,000 unless given. With `--profile dev`, a
//! build without optimisation.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)] // Criterion is for the other benchmarks.
mod ratio;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use table_orm::embedded::EmbeddedStore;
use table_orm::entity::EntityRows;
use table_orm::{Repo, TableEntity, Tables};
use tokio::runtime::Runtime;

const ENTITIES: u32 = 10_000;
const WRITERS: usize = 64;
const ROUNDS: usize = 5;
/// How often each entity is updated in a day.
const UPDATES: u32 = 5;
/// What the store puts before a row: its timestamp.
const TIMESTAMP: usize = r#""Timestamp":"2011-11-06T14:10:00.1234567Z","#.len();

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{event}")]
#[row(by_bib, key = "BIB:{bib:06}")]
#[row(by_age, key = "AGE:{age:03}__{bib:06}")]
#[row(by_club, key = "CLUB:{club}__{bib:06}")]
#[row(by_time, key = "TIME:{seconds:06}__{bib:06}")]
#[row(by_name, key = "NAME:{name}__{bib:06}", include(name))]
struct Runner {
    event: String,
    bib: u32,
    name: String,
    age: u8,
    seconds: u32,
    club: String,
    city: Option<String>,
}

fn runner(bib: u32) -> Runner {
    Runner {
        event: "New York 2011".to_owned(),
        bib,
        name: format!("Runner Number {}", bib.wrapping_mul(7_919) % 100_000),
        age: (bib % 90) as u8,
        seconds: bib.wrapping_mul(104_729) % 20_000,
        club: format!("Club {}", bib % 40),
        city: Some("New York".to_owned()),
    }
}

/// Calls `write` with each number below `count`, from many tasks.
fn by_writers<F>(runtime: &Runtime, count: u32, write: impl Fn(u32) -> F + Clone + Send + 'static)
where
    F: Future<Output = ()> + Send,
{
    let next = Arc::new(AtomicU32::new(0));
    runtime.block_on(async {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (next, write) = (Arc::clone(&next), write.clone());
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        write(number).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

fn load(runtime: &Runtime, tables: &Tables, entities: u32) -> (Repo<Runner>, Duration) {
    let repo = tables.repo::<Runner>();
    runtime.block_on(repo.create_table()).unwrap();
    let start = Instant::now();
    let writer = repo.clone();
    by_writers(runtime, entities, move |bib| {
        let repo = writer.clone();
        async move { drop(repo.insert(&runner(bib)).await.unwrap()) }
    });
    (repo, start.elapsed())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let entities = std::env::args().find_map(|text| text.parse().ok()).unwrap_or(ENTITIES);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut memory, mut file) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        memory.push(load(&runtime, &Tables::in_memory().unwrap(), entities).1);
        let path = folder.path().join(format!("{round}.redb"));
        file.push(load(&runtime, &Tables::open(&path).unwrap(), entities).1);
        std::fs::remove_file(path).unwrap();
    }
    let (memory, file) = (median(memory), median(file));
    println!(
        "load of {entities} entities of five rows: memory {memory:.2} s / a file {file:.2} s = {}",
        ratio::verdict(memory / file, Some(0.33))
    );
    on_disk(&runtime, &folder.path().join("disk.redb"), entities);
}

fn on_disk(runtime: &Runtime, path: &Path, entities: u32) {
    let store = EmbeddedStore::open(path).unwrap();
    let (repo, _) = load(runtime, &Tables::new(store.clone()), entities);
    let stored = (0..entities).map(|bib| stored_bytes(&runner(bib))).sum::<usize>() as f64;
    println!("bytes on disk of {:.1} MB in keys and rows:", stored / 1e6);
    let print = |when: &str, bytes: u64| {
        println!("- {when}: {:.1} MB, {:.2} a byte", bytes as f64 / 1e6, bytes as f64 / stored);
    };
    let bytes = || path.metadata().unwrap().len();
    print("after the load", bytes());
    // The new ages are as long as the old ones, so as many bytes are stored.
    by_writers(runtime, UPDATES * entities, move |number| {
        let (repo, bib) = (repo.clone(), number.wrapping_mul(7_919) % entities);
        async move {
            let key = Runner::partition("New York 2011").by_bib().bib(bib);
            let update = |runner: &mut Runner| {
                runner.seconds = (runner.seconds + 1) % 20_000;
                runner.age = (runner.age + 1) % 90;
            };
            drop(repo.update(key, update).await.unwrap());
        }
    });
    print(&format!("after {UPDATES} updates of each entity"), bytes());
    let start = Instant::now();
    let (_, after) = runtime.block_on(store.compact()).unwrap();
    print(&format!("after compact(), in {:.2} s", start.elapsed().as_secs_f64()), after);
}

fn stored_bytes(runner: &Runner) -> usize {
    let rows = EntityRows::of(runner).unwrap();
    let keys = |row_key: &str| rows.partition_key.len() + 1 + row_key.len();
    rows.rows.iter().map(|row| keys(&row.row_key) + TIMESTAMP + row.body.len()).sum()
}
