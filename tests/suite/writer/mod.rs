//! What a writer promises: when it sends, what it holds, and what it hands back.

mod buffer;
mod dropped;
mod faults;
mod journal;
mod sending;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::store::{Batch, Middleware, Operation, Store, StoreError};
use table_orm::{ETag, Repo, TableEntity, TableName, Tables};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, TableEntity)]
#[table(name = "telemetry", partition = "{device:05}", row = "{second:06}")]
struct Sample {
    device: u32,
    second: u32,
    #[table(default)]
    text: String,
    #[table(default)]
    text2: String,
}

fn sample(device: u32, second: u32) -> Sample {
    Sample { device, second, text: String::new(), text2: String::new() }
}

/// A transaction that was sent: when, and which rows.
type Sent = (Duration, String, Vec<String>);

/// A store that says what it was sent, and answers late.
#[derive(Debug, Clone)]
struct Slow {
    inner: Arc<EmbeddedStore>,
    began: Instant,
    sent: Arc<Mutex<Vec<Sent>>>,
    /// The partitions with a transaction that is not answered.
    under_way: Arc<Mutex<Vec<String>>>,
    /// How often a partition got a second one meanwhile.
    overlaps: Arc<AtomicUsize>,
    /// How long each answer takes, in turn.
    answers: Arc<[Duration]>,
    /// How many requests it answers before it is opened.
    open: Arc<Semaphore>,
}

impl Slow {
    fn new(answers: &[u64]) -> Self {
        Self {
            inner: Arc::new(EmbeddedStore::in_memory().unwrap()),
            began: Instant::now(),
            sent: Arc::default(),
            under_way: Arc::default(),
            overlaps: Arc::default(),
            answers: answers.iter().map(|&time| Duration::from_millis(time)).collect(),
            open: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
        }
    }

    async fn repo(&self) -> Repo<Sample> {
        let tables = Tables::new(self.clone()).on_virtual_time(1);
        Tables::new(Arc::clone(&self.inner)).repo::<Sample>().create_table().await.unwrap();
        tables.repo()
    }

    fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// The rows of each transaction, by the second at which it was sent.
    fn sizes(&self) -> Vec<(u64, usize)> {
        self.sent().iter().map(|(at, _, rows)| (at.as_secs(), rows.len())).collect()
    }

    async fn answer(&self, partition_key: &str, operations: &[Operation]) {
        let rows = operations.iter().map(|operation| operation.row_key.clone()).collect();
        let number = {
            let mut sent = self.sent.lock().unwrap();
            sent.push((self.began.elapsed(), partition_key.to_owned(), rows));
            sent.len()
        };
        {
            let mut under_way = self.under_way.lock().unwrap();
            let overlaps = under_way.iter().any(|partition| partition == partition_key);
            self.overlaps.fetch_add(overlaps.into(), Ordering::Relaxed);
            under_way.push(partition_key.to_owned());
        }
        self.open.acquire().await.unwrap().forget();
        sleep(self.answers[number % self.answers.len()]).await;
        let mut under_way = self.under_way.lock().unwrap();
        let at = under_way.iter().position(|partition| partition == partition_key).unwrap();
        under_way.remove(at);
    }
}

impl Middleware for Slow {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.answer(partition_key, std::slice::from_ref(&operation)).await;
        self.inner.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.answer(&transaction.partition_key, &transaction.operations).await;
        self.inner.commit(table, transaction).await
    }
}

async fn stored(repo: &Repo<Sample>, device: u32) -> Vec<u32> {
    let rows = repo.list(Sample::partition(device)).collect().await.unwrap();
    rows.into_iter().map(|sample| sample.second).collect()
}
