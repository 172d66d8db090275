//! The write engine against raw redb: many entities of three rows and a guard, written in chunks
//! into memory and into a file; and one update that moves an index row.

#![allow(missing_docs, clippy::unwrap_used)]

mod ratio;

use criterion::{BatchSize, Criterion};
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableTable, TableDefinition};
use std::cell::Cell;
use std::path::PathBuf;
use table_orm::entity::EntityRows;
use table_orm::{Repo, TableEntity, Tables};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const RAW: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("rows");
const ENTITIES: u32 = 2_000;
/// As many entities of four operations each as one transaction of the service takes.
const CHUNK: usize = 25;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{event}", unique(bib))]
#[row(by_bib, key = "BIB:{bib:06}__{name}")]
#[row(by_age, key = "AGE:{age:03}__{bib:06}__{name}")]
#[row(by_club, key = "CLUB:{club}__{bib:06}", include(name))]
struct Runner {
    event: String,
    bib: u32,
    name: String,
    age: u8,
    club: String,
    city: Option<String>,
}

fn runner(bib: u32) -> Runner {
    Runner {
        event: format!("Race {:02}", bib % 16),
        bib,
        name: format!("Runner Number {bib}"),
        age: (bib % 90) as u8,
        club: format!("Club {}", bib % 40),
        city: Some("New York".to_owned()),
    }
}

type RawRow = (Vec<u8>, Vec<u8>);

/// The keys and values that the store keeps for an entity.
fn raw_rows(runner: &Runner) -> Vec<RawRow> {
    let rows = EntityRows::of(runner).unwrap();
    let raw = |row: &table_orm::entity::EntityRow| {
        let key = format!("{}\0{}", rows.partition_key, row.row_key).into_bytes();
        let mut value = br#"{"Timestamp":"2011-11-06T14:10:00.1234567Z","#.to_vec();
        value.extend_from_slice(&row.body[1..]);
        (key, value)
    };
    rows.rows.iter().map(raw).collect()
}

fn raw_insert(database: &Database, entities: &[Vec<RawRow>]) {
    for chunk in entities.chunks(CHUNK) {
        let write = database.begin_write().unwrap();
        {
            let mut table = write.open_table(RAW).unwrap();
            for (key, value) in chunk.iter().flatten() {
                // An insert has to know that the row is not there.
                assert!(table.insert(key.as_slice(), value.as_slice()).unwrap().is_none());
            }
        }
        write.commit().unwrap();
    }
}

/// Deletes the old index row, inserts the new one, and replaces the others.
fn raw_update(database: &Database, old: &[RawRow], new: &[RawRow]) {
    let write = database.begin_write().unwrap();
    {
        let mut table = write.open_table(RAW).unwrap();
        // The canonical row is read, as an update reads it.
        assert!(table.get(old[0].0.as_slice()).unwrap().is_some());
        for ((old_key, _), (key, value)) in old.iter().zip(new) {
            if old_key != key {
                table.remove(old_key.as_slice()).unwrap();
            }
            table.insert(key.as_slice(), value.as_slice()).unwrap();
        }
    }
    write.commit().unwrap();
}

fn repo(runtime: &Runtime, tables: &Tables) -> Repo<Runner> {
    let repo = tables.repo::<Runner>();
    runtime.block_on(repo.create_table()).unwrap();
    repo
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let mut criterion = ratio::criterion();
    for file in [false, true] {
        many(&mut criterion, &runtime, file);
    }
    update(&mut criterion, &runtime);
    criterion.final_summary();
    ratio::print("insert 2000 in memory", "raw redb", "insert_many", Some(2.0));
    ratio::print("insert 2000 in a file", "raw redb", "insert_many", None);
    ratio::print("update that moves an index row", "raw redb", "update", None);
}

/// A folder whose files are new each time.
struct Files(TempDir, Cell<u32>);

impl Files {
    fn next(&self) -> PathBuf {
        self.1.set(self.1.get() + 1);
        self.0.path().join(format!("{}.redb", self.1.get()))
    }
}

fn many(criterion: &mut Criterion, runtime: &Runtime, file: bool) {
    let files = Files(tempfile::tempdir().unwrap(), Cell::new(0));
    let entities: Vec<_> = (0..ENTITIES).map(runner).collect();
    // One partition after another, as their chunks are sent.
    let mut raw: Vec<_> = entities.iter().map(raw_rows).collect();
    raw.sort();

    let place = if file { "a file" } else { "memory" };
    let mut group = criterion.benchmark_group(format!("insert {ENTITIES} in {place}"));
    group.sample_size(10);
    group.bench_function("raw redb", |bench| {
        let database = || match file {
            true => Database::create(files.next()).unwrap(),
            false => Database::builder().create_with_backend(InMemoryBackend::new()).unwrap(),
        };
        bench.iter_batched(
            database,
            |database| {
                raw_insert(&database, &raw);
                database
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("insert_many", |bench| {
        let tables = || match file {
            true => Tables::open(files.next()).unwrap(),
            false => Tables::in_memory().unwrap(),
        };
        bench.iter_batched(
            || (repo(runtime, &tables()), entities.clone()),
            |(repo, entities)| {
                let written = runtime.block_on(repo.insert_many(entities).into_future()).all();
                assert_eq!(written.unwrap().entities, u64::from(ENTITIES));
                repo
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn update(criterion: &mut Criterion, runtime: &Runtime) {
    let entities: Vec<_> = (0..ENTITIES).map(runner).collect();
    let older = |runner: &Runner, age| Runner { age, ..runner.clone() };
    let turn = Cell::new(0_u32);
    // Which runner is next, and an age it does not have.
    let next = || {
        turn.set(turn.get() + 1);
        let bib = turn.get().wrapping_mul(7_919) % ENTITIES;
        (bib, 100 + (turn.get() / ENTITIES % 100) as u8)
    };

    let mut group = criterion.benchmark_group("update that moves an index row");
    group.bench_function("raw redb", |bench| {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
        raw_insert(&database, &entities.iter().map(raw_rows).collect::<Vec<_>>());
        let mut stored = entities.clone();
        bench.iter_batched(
            || {
                let (bib, age) = next();
                let old = raw_rows(&stored[bib as usize]);
                stored[bib as usize].age = age;
                (old, raw_rows(&older(&stored[bib as usize], age)))
            },
            |(old, new)| raw_update(&database, &old, &new),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("update", |bench| {
        let repo = repo(runtime, &Tables::in_memory().unwrap());
        runtime.block_on(repo.insert_many(entities.clone()).into_future()).all().unwrap();
        bench.iter_batched(
            || {
                let (bib, age) = next();
                let Runner { event, name, .. } = runner(bib);
                (Runner::partition(event).by_bib().bib(bib).name(name), age)
            },
            |(key, age)| {
                let update = repo.update(key, move |runner| runner.age = age);
                runtime.block_on(update.into_future()).unwrap()
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}
