//! Calls of a writer that are dropped anywhere, over a store that fails: each entity that was taken is written or
//! handed back, once, and no other is.

use super::{Sample, sample};
use futures_util::future::join_all;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use support::{dose, on_virtual_time};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Faults;
use table_orm::repo::{Writer, WriterReport};
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError};
use table_orm::{ETag, Error, ScanPermit, TableName, Tables};
use tokio::time::sleep;

/// What a sender does. A call with `polls` is polled at most that often, and then dropped.
#[derive(Debug, Clone)]
enum Call {
    Send { device: u32, polls: Option<usize> },
    Flush { polls: Option<usize> },
    Pause(u64),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let polls = || prop::option::weighted(0.4, 0..4usize);
    let call = prop_oneof![
        12 => (0..2u32, polls()).prop_map(|(device, polls)| Call::Send { device, polls }),
        2 => polls().prop_map(|polls| Call::Flush { polls }),
        1 => (0..3000u64).prop_map(Call::Pause),
    ];
    prop::collection::vec(call, 0..80)
}

/// The call's answer; `None` when it is dropped.
async fn polled<T>(call: impl Future<Output = T>, polls: Option<usize>) -> Option<T> {
    let Some(polls) = polls else { return Some(call.await) };
    let mut call = Box::pin(call);
    for _ in 0..polls {
        if let Poll::Ready(answer) = futures_util::poll!(&mut call) {
            return Some(answer);
        }
        // What it waits for may come, and is not looked at.
        sleep(Duration::from_millis(400)).await;
    }
    None
}

/// The order in which rows took effect in each partition.
#[derive(Debug, Clone)]
struct Log {
    inner: Arc<EmbeddedStore>,
    rows: Arc<Mutex<BTreeMap<String, Vec<String>>>>,
}

impl Log {
    fn took_effect(&self, partition_key: &str, rows: impl Iterator<Item = String>) {
        let mut all = self.rows.lock().unwrap();
        all.entry(partition_key.to_owned()).or_default().extend(rows);
    }
}

impl Middleware for Log {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let row_key = operation.row_key.clone();
        let written = self.inner.write(table, partition_key, operation).await?;
        self.took_effect(partition_key, [row_key].into_iter());
        Ok(written)
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let partition_key = transaction.partition_key.clone();
        let rows: Vec<_> = transaction.operations.iter().map(|one| one.row_key.clone()).collect();
        let written = self.inner.commit(table, transaction).await?;
        self.took_effect(&partition_key, rows.into_iter());
        Ok(written)
    }
}

/// What the app knows.
#[derive(Debug, Default)]
struct Known {
    taken: BTreeSet<(u32, u32)>,
    not_taken: BTreeSet<(u32, u32)>,
    /// Whether the entity may be stored all the same.
    handed_back: BTreeMap<(u32, u32), bool>,
    written: u64,
}

impl Known {
    fn reported(&mut self, report: WriterReport<Sample>) {
        self.written += report.written.entities + report.written.present;
        for failure in report.failures {
            let may_be_there = matches!(failure.error, Error::Ambiguous(_) | Error::Unavailable(_));
            for Sample { device, second, .. } in failure.entities {
                let before = self.handed_back.insert((device, second), may_be_there);
                assert_eq!(before, None, "handed back twice: {device}, {second}");
            }
        }
    }
}

async fn send(writer: Writer<Sample>, sender: u32, calls: Vec<Call>, known: &Mutex<Known>) {
    for (second, call) in (0..).zip(calls) {
        match call {
            Call::Send { device, polls } => {
                let sample = sample(2 * sender + device, second);
                let key = (sample.device, sample.second);
                match polled(writer.send(sample), polls).await {
                    Some(Ok(())) => {
                        known.lock().unwrap().taken.insert(key);
                    }
                    not_taken => {
                        known.lock().unwrap().not_taken.insert(key);
                        if let Some(Err(error)) = not_taken {
                            // Failures that nobody took fill the buffer.
                            assert!(matches!(error, Error::Writer(_)), "{error}");
                            let report = writer.flush().await.unwrap();
                            known.lock().unwrap().reported(report);
                        }
                    }
                }
            }
            Call::Flush { polls } => {
                if let Some(report) = polled(writer.flush(), polls).await {
                    known.lock().unwrap().reported(report.unwrap());
                }
            }
            Call::Pause(time) => sleep(Duration::from_millis(time)).await,
        }
    }
}

async fn run(senders: Vec<Vec<Call>>, seed: u64, buffer: usize, has_journal: bool) {
    let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
    let below = Tables::new(Arc::clone(&inner)).repo::<Sample>();
    below.create_table().await.unwrap();
    // Some are there, and others than those that are sent.
    let other = |device, second| Sample { text: "other".into(), ..sample(device, second) };
    let there = (0..6).flat_map(|device| [5, 23].map(|second| other(device, second)));
    below.insert_many(there.collect::<Vec<_>>()).await.all().unwrap();
    let log = Log { inner, rows: Arc::default() };
    let faults = Faults::seeded(seed).throttled(0.1).lost_replies(0.1).lost_requests(0.05);
    let faults = faults.slow(0.5).slowest(Duration::from_millis(900));
    let flaky = faults.store(Arc::new(log.clone())).unwrap();
    let repo = Tables::new(flaky.clone()).on_virtual_time(seed).repo::<Sample>();
    let open = repo.writer().buffer(buffer).parallelism(3);
    let open = match has_journal {
        true => open.journal(EmbeddedStore::in_memory().unwrap()),
        false => open,
    };
    let writer = open.await.unwrap();
    let known = Mutex::new(Known::default());
    let senders = (0..).zip(senders);
    let senders = senders.map(|(number, calls)| send(writer.clone(), number, calls, &known));
    join_all(senders).await;
    let report = writer.close().await.unwrap();
    known.lock().unwrap().reported(report);
    flaky.disable();
    sleep(Duration::from_secs(600)).await;

    let rows = below.scan(ScanPermit::because("test")).collect().await.unwrap();
    let own = rows.into_iter().filter(|row| row.text.is_empty());
    let stored: BTreeSet<_> = own.map(|row| (row.device, row.second)).collect();
    let known = known.into_inner().unwrap();
    for key in &known.taken {
        let handed_back = known.handed_back.get(key);
        match handed_back {
            None => assert!(stored.contains(key), "{key:?} is lost"),
            Some(false) => assert!(!stored.contains(key), "{key:?} is stored and handed back"),
            Some(true) => assert!(!has_journal, "{key:?} is unknown in spite of the journal"),
        }
    }
    for key in &known.not_taken {
        assert!(!stored.contains(key) && !known.handed_back.contains_key(key), "{key:?}");
    }
    assert_eq!(known.written as usize, known.taken.len() - known.handed_back.len());
    for (partition, rows) in log.rows.lock().unwrap().iter() {
        assert!(rows.is_sorted(), "{partition}: {rows:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(40, 2000)))]

    #[test]
    fn each_entity_that_was_taken_is_written_or_handed_back_once_and_in_order(
        senders in prop::collection::vec(calls(), 1..4),
        seed in any::<u64>(),
        buffer in prop_oneof![2_000..20_000usize, Just(1 << 20)],
        has_journal in any::<bool>(),
    ) {
        on_virtual_time(run(senders, seed, buffer, has_journal));
    }
}
