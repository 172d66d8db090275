//! The embedded store against raw redb with the same bytes: point get in memory and in a file,
//! insert in memory, and 64 concurrent writers to a file against one durable transaction a write.

#![allow(missing_docs, clippy::unwrap_used)]

mod finisher;
mod ratio;
mod raw;

use finisher::Finisher;
use raw::{ROWS, finisher};
use redb::backends::InMemoryBackend;
use redb::{Database, ReadableTable};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;
use table_orm::{Repo, Tables};
use tokio::runtime::Runtime;

const WRITERS: usize = 64;

fn raw_insert(database: &Database, (key, value): &(Vec<u8>, Vec<u8>)) {
    let write = database.begin_write().unwrap();
    {
        let mut table = write.open_table(raw::TABLE).unwrap();
        // An insert has to know that the row is not there.
        assert!(table.get(key.as_slice()).unwrap().is_none());
        table.insert(key.as_slice(), value.as_slice()).unwrap();
    }
    write.commit().unwrap();
}

fn raw_memory() -> Database {
    raw::filled(Database::builder().create_with_backend(InMemoryBackend::new()).unwrap())
}

fn repo(runtime: &Runtime, tables: &Tables, rows: u32) -> Repo<Finisher> {
    let repo = tables.repo::<Finisher>();
    runtime.block_on(async {
        repo.create_table().await.unwrap();
        repo.insert_many((0..rows).map(finisher)).await.all().unwrap();
    });
    repo
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let mut criterion = ratio::criterion();
    memory(&mut criterion, &runtime);
    group_commit(&mut criterion, &runtime);
    criterion.final_summary();
    ratio::print("point get in memory", "raw redb", "table-orm", Some(1.5));
    ratio::print("point get in a file", "raw redb", "table-orm", Some(1.5));
    ratio::print("insert in memory", "raw redb", "table-orm", Some(2.0));
    ratio::print("durable write", "one transaction each", "64 writers", Some(0.1));
}

fn memory(criterion: &mut criterion::Criterion, runtime: &Runtime) {
    let raw = raw_memory();
    let tables = Tables::in_memory().unwrap();
    let repo = repo(runtime, &tables, ROWS);
    point_get(criterion, runtime, "memory", &raw, &repo);
    {
        let folder = tempfile::tempdir().unwrap();
        let raw = raw::filled(Database::create(folder.path().join("raw.redb")).unwrap());
        let tables = Tables::open(folder.path().join("tables.redb")).unwrap();
        let repo = self::repo(runtime, &tables, ROWS);
        point_get(criterion, runtime, "a file", &raw, &repo);
    }

    let mut group = criterion.benchmark_group("insert in memory");
    let bib = Cell::new(ROWS);
    let fresh = || {
        bib.set(bib.get() + 1);
        bib.get()
    };
    group.bench_function("raw redb", |bench| {
        bench.iter_batched(
            || raw::row(fresh()),
            |row| raw_insert(&raw, &row),
            criterion::BatchSize::SmallInput,
        );
    });
    group.bench_function("table-orm", |bench| {
        bench.iter_batched(
            || finisher(fresh()),
            |entity| runtime.block_on(repo.insert(&entity).into_future()).unwrap(),
            criterion::BatchSize::SmallInput,
        );
    });
    group.finish();
}

fn point_get(
    criterion: &mut criterion::Criterion,
    runtime: &Runtime,
    place: &str,
    raw: &Database,
    repo: &Repo<Finisher>,
) {
    let race = Finisher::partition("Marathon");
    let turn = Cell::new(0_u32);
    let next = || {
        turn.set((turn.get() + 7_919) % ROWS);
        turn.get()
    };

    let mut group = criterion.benchmark_group(format!("point get in {place}"));
    group.bench_function("raw redb", |bench| {
        let keys: Vec<_> = (0..ROWS).map(|bib| raw::row(bib).0).collect();
        bench.iter(|| black_box(raw::get(raw, &keys[next() as usize])));
    });
    group.bench_function("table-orm", |bench| {
        bench.iter(|| runtime.block_on(repo.get(race.row().bib(next())).into_future()).unwrap());
    });
    group.finish();
}

fn group_commit(criterion: &mut criterion::Criterion, runtime: &Runtime) {
    let folder = tempfile::tempdir().unwrap();
    let raw = Database::create(folder.path().join("raw.redb")).unwrap();
    let tables = Tables::open(folder.path().join("tables.redb")).unwrap();
    let repo = repo(runtime, &tables, 0);
    let bib = Arc::new(AtomicU32::new(0));

    let mut group = criterion.benchmark_group("durable write");
    group.sample_size(10);
    group.bench_function("one transaction each", |bench| {
        bench.iter_custom(|writes| {
            let rows: Vec<_> =
                (0..writes).map(|_| raw::row(bib.fetch_add(1, Ordering::Relaxed))).collect();
            let write = raw.begin_write().unwrap();
            drop(write.open_table(raw::TABLE).unwrap());
            write.commit().unwrap();
            let start = Instant::now();
            rows.iter().for_each(|row| raw_insert(&raw, row));
            start.elapsed()
        });
    });
    group.bench_function("64 writers", |bench| {
        bench.iter_custom(|writes| {
            let start = Instant::now();
            runtime.block_on(async {
                let left = Arc::new(AtomicU32::new(u32::try_from(writes).unwrap()));
                let writers: Vec<_> = (0..WRITERS)
                    .map(|_| {
                        let (repo, left, bib) = (repo.clone(), left.clone(), bib.clone());
                        tokio::spawn(async move {
                            let one_less = |left: u32| left.checked_sub(1);
                            while left
                                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
                                .is_ok()
                            {
                                let bib = bib.fetch_add(1, Ordering::Relaxed);
                                repo.insert(&finisher(bib)).await.unwrap();
                            }
                        })
                    })
                    .collect();
                for writer in writers {
                    writer.await.unwrap();
                }
            });
            start.elapsed()
        });
    });
    group.finish();
}
