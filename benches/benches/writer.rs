//! Readings that arrive one by one from many sensors: one `insert` each, a `writer` without and with a journal, and
//! `insert_many`, which has all of them beforehand. Each request travels for 5 ms. The four take turns.
//!
//! `cargo bench -p benches --bench writer [-- ROUNDS]`: 5 rounds unless given.

#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use table_orm::embedded::EmbeddedStore;
use table_orm::store::{Middleware, Store, StoreAnswer, StoreError, StoreRequest};
use table_orm::{Repo, TableEntity, Tables};
use tempfile::tempdir;
use tokio::time::sleep;

/// One `insert` each takes long: these are enough.
const SINGLE: u32 = 500;
const READINGS: u32 = 20_000;
const SENSORS: u32 = 100;

#[derive(Debug, Clone, TableEntity)]
#[table(name = "readings", partition = "{sensor:04}", row = "{second:08}")]
struct Reading {
    sensor: u32,
    second: u32,
    celsius: f64,
    humidity: f64,
    battery: u32,
}

fn readings(count: u32) -> impl Iterator<Item = Reading> {
    (0..count).map(|number| Reading {
        sensor: number % SENSORS,
        second: number / SENSORS,
        celsius: f64::from(number % 40),
        humidity: 0.5,
        battery: 97,
    })
}

#[derive(Debug, Clone)]
struct Distant {
    inner: Arc<EmbeddedStore>,
    requests: Arc<AtomicU64>,
}

impl Middleware for Distant {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        sleep(Duration::from_millis(5)).await;
        next.await
    }
}

/// How a number of readings is written.
#[derive(Debug, Clone, Copy)]
enum Way {
    Single,
    Many,
    Writer,
    Journal,
}

const WAYS: [(Way, &str); 4] = [
    (Way::Single, "one `insert` each"),
    (Way::Many, "`insert_many`"),
    (Way::Writer, "`writer`"),
    (Way::Journal, "`writer` with a journal, 64 senders"),
];

/// Entities a second, and requests for 1,000 entities.
async fn measure(way: Way) -> (f64, f64) {
    let (inner, requests) = (Arc::new(EmbeddedStore::in_memory().unwrap()), Arc::default());
    let store = Distant { inner, requests };
    let repo = Tables::new(store.clone()).repo::<Reading>();
    repo.create_table().await.unwrap();
    store.requests.store(0, Ordering::Relaxed);
    let folder = tempdir().unwrap();
    let began = Instant::now();
    let written = match way {
        Way::Single => {
            for reading in readings(SINGLE) {
                repo.insert(&reading).await.unwrap();
            }
            SINGLE
        }
        Way::Many => {
            repo.insert_many(readings(READINGS)).await.all().unwrap();
            READINGS
        }
        Way::Writer => {
            let writer = repo.writer().await.unwrap();
            for reading in readings(READINGS) {
                writer.send(reading).await.unwrap();
            }
            writer.close().await.unwrap().all().unwrap();
            READINGS
        }
        Way::Journal => {
            journaled(&repo, EmbeddedStore::open(folder.path().join("journal")).unwrap()).await;
            READINGS
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    let requests = store.requests.load(Ordering::Relaxed) as f64;
    (f64::from(written) / seconds, 1000.0 * requests / f64::from(written))
}

async fn journaled(repo: &Repo<Reading>, journal: EmbeddedStore) {
    let writer = repo.writer().journal(journal).await.unwrap();
    let senders = (0..64).map(|sender| {
        let writer = writer.clone();
        tokio::spawn(async move {
            for reading in readings(READINGS).skip(sender).step_by(64) {
                writer.send(reading).await.unwrap();
            }
        })
    });
    for sender in senders.collect::<Vec<_>>() {
        sender.await.unwrap();
    }
    writer.close().await.unwrap().all().unwrap();
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(5);
    let mut figures = WAYS.map(|_| Vec::new());
    for _ in 0..rounds {
        for (figures, (way, _)) in figures.iter_mut().zip(WAYS) {
            figures.push(measure(way).await);
        }
    }
    let medians = figures.map(|mut figures| {
        figures.sort_by(|left, right| left.0.total_cmp(&right.0));
        figures[figures.len() / 2]
    });
    println!(
        "| {READINGS} readings of {SENSORS} sensors | entities/s | ratio | requests for 1,000 |"
    );
    println!("|---|---|---|---|");
    for ((rate, requests), (_, name)) in medians.into_iter().zip(WAYS) {
        println!("| {name} | {rate:.0} | {:.2} | {requests:.1} |", rate / medians[0].0);
    }
}
