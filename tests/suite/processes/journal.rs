//! Writers with a journal are killed at random moments: each entity whose `send` returned is written, by the
//! killed process or by a later one.
//!
//! A child sends from several tasks, over a store that loses answers, and writes a line for each entity that
//! was taken. The table and the journal are files.

use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::worker::{Worker, ready, task};
use support::{dose, draw};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Faults;
use table_orm::repo::Writer;
use table_orm::store::Store;
use table_orm::{ScanPermit, TableEntity, Tables};
use tokio::runtime::Runtime;

const TEST: &str = "journal::entities_that_were_taken_are_written_whatever_was_killed";
const SENDERS: u32 = 4;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "samples", partition = "{sender}", row = "{round:04}-{number:08}")]
struct Sample {
    sender: u32,
    round: u32,
    number: u32,
}

/// The writer in the files of a folder. The seed determines the faults.
async fn writer(folder: &Path, seed: Option<u64>) -> (Tables, Writer<Sample>) {
    let mut store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(folder.join("table")).unwrap());
    if let Some(seed) = seed {
        let faults = Faults::seeded(seed).lost_replies(0.02).errors_after(0.02).throttled(0.02);
        store = Arc::new(faults.store(store).unwrap());
    }
    let tables = Tables::new(store);
    let samples = tables.repo::<Sample>();
    let journal = EmbeddedStore::open(folder.join("journal")).unwrap();
    let open = samples.writer().every(Duration::from_millis(20)).journal(journal);
    (tables, open.await.unwrap())
}

/// Sends until it is killed.
async fn work(folder: &Path, round: u32) {
    let (_tables, writer) = writer(folder, Some(u64::from(round))).await;
    ready();
    let sends = (0..SENDERS).map(|sender| {
        let writer = &writer;
        async move {
            for number in 0.. {
                writer.send(Sample { sender, round, number }).await.unwrap();
                println!("{sender} {round} {number}");
            }
        }
    });
    join_all(sends).await;
}

#[test]
fn entities_that_were_taken_are_written_whatever_was_killed() {
    if let Some(task) = task() {
        let (round, folder) = task.split_once(' ').unwrap();
        return Runtime::new().unwrap().block_on(work(folder.as_ref(), round.parse().unwrap()));
    }
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let tables = Tables::open(folder.path().join("table")).unwrap();
        tables.repo::<Sample>().create_table().await.unwrap();
    });
    let mut taken = BTreeSet::new();
    for round in 0..dose(5, 100) {
        let mut worker = Worker::start(TEST, &format!("{round} {}", folder.path().display()));
        worker.wait_until_ready();
        for _ in 0..draw((round, "lines"), 0..400) {
            let line = worker.line().expect("a worker works until it is killed");
            taken.insert(line);
        }
        worker.kill();
    }
    runtime.block_on(async {
        let (tables, writer) = writer(folder.path(), None).await;
        writer.close().await.unwrap().all().unwrap();
        let scan = tables.repo::<Sample>().scan(ScanPermit::because("a test"));
        let rows = scan.collect().await.unwrap();
        let rows = rows.iter().map(|row| format!("{} {} {}", row.sender, row.round, row.number));
        let rows: BTreeSet<_> = rows.collect();
        let lost: Vec<_> = taken.difference(&rows).collect();
        assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), taken.len());
        assert!(!taken.is_empty());
    });
}
