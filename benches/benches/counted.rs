//! One operation of the embedded store or of raw redb, so many times: `counted WHAT TIMES`.
//! `instructions.py` counts the instructions.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod finisher;
mod raw;

use finisher::Finisher;
use raw::{ROWS, finisher};
use redb::Database;
use redb::backends::InMemoryBackend;
use std::hint::black_box;
use table_orm::{Projection, Repo, Tables};
use tokio::runtime::Runtime;

/// One property of ten.
#[derive(Projection)]
#[projection(of = Finisher)]
#[expect(dead_code, reason = "only read from JSON")]
struct Time {
    seconds: f64,
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    // Cargo passes an argument of its own.
    let [_, what, times, ..] = &arguments[..] else { return };
    let Ok(times) = times.parse::<u32>() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let memory = || Tables::in_memory().unwrap();
    let file = || Tables::open(folder.path().join("tables.redb")).unwrap();
    match &**what {
        "get from memory" => gets(&runtime, &memory(), times),
        "get from a file" => gets(&runtime, &file(), times),
        "row of a list from memory" => list(&runtime, &memory(), times),
        "row of a list from a file" => list(&runtime, &file(), times),
        "projected row of a list from memory" => list_times(&runtime, &memory(), times),
        "projected row of a list from a file" => list_times(&runtime, &file(), times),
        "get from raw redb" => {
            let backend = InMemoryBackend::new();
            let database = Database::builder().create_with_backend(backend).unwrap();
            let database = raw::filled(database);
            let keys: Vec<_> = (0..ROWS).map(|bib| raw::row(bib).0).collect();
            for bib in bibs(times) {
                black_box(raw::get(&database, &keys[bib as usize]));
            }
        }
        "insert into memory" => {
            let repo = repo(&runtime, &Tables::in_memory().unwrap());
            let entities: Vec<_> = (ROWS..ROWS + times).map(finisher).collect();
            for entity in &entities {
                runtime.block_on(repo.insert(entity).into_future()).unwrap();
            }
        }
        what => panic!("{what} is not known"),
    }
}

/// Rows all over the table.
fn bibs(times: u32) -> impl Iterator<Item = u32> {
    (0..times).map(|turn| turn.wrapping_mul(7_919) % ROWS)
}

fn gets(runtime: &Runtime, tables: &Tables, times: u32) {
    let (repo, race) = (repo(runtime, tables), Finisher::partition("Marathon"));
    for bib in bibs(times) {
        black_box(runtime.block_on(repo.get(race.row().bib(bib)).into_future()).unwrap());
    }
}

/// Lists rows in pages of a thousand, as often as needed.
fn list(runtime: &Runtime, tables: &Tables, rows: u32) {
    let (repo, race) = (repo(runtime, tables), Finisher::partition("Marathon"));
    for rows in lists(rows) {
        black_box(runtime.block_on(repo.list(race.row()).take(rows).collect()).unwrap());
    }
}

fn list_times(runtime: &Runtime, tables: &Tables, rows: u32) {
    let (repo, race) = (repo(runtime, tables), Finisher::partition("Marathon"));
    for rows in lists(rows) {
        let list = repo.list(race.row()).take(rows).project::<Time>();
        black_box(runtime.block_on(list.collect()).unwrap());
    }
}

/// The rows of each list, so that all have so many.
fn lists(rows: u32) -> impl Iterator<Item = usize> {
    (0..rows).step_by(ROWS as usize).map(move |from| (rows - from).min(ROWS) as usize)
}

fn repo(runtime: &Runtime, tables: &Tables) -> Repo<Finisher> {
    let repo = tables.repo::<Finisher>();
    runtime.block_on(async {
        repo.create_table().await.unwrap();
        repo.insert_many((0..ROWS).map(finisher)).await.all().unwrap();
    });
    repo
}
