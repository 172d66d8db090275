//! Tables, queues and workers of these tests.

use super::super::{DistributedScan, WorkPage, WorkerReport};
use crate::embedded::EmbeddedStore;
use crate::entity::{DynamicEntity, RowHead};
use crate::error::{Error, Result};
use crate::layer::Writes;
use crate::model::TableName;
use crate::query::ScanPermit;
use crate::queue::{MemoryQueues, Message, QueueError, QueueErrorKind, Queues, Receipt};
use crate::repo::Table;
use crate::scan::Scan;
use crate::store::Store;
use crate::tables::Tables;
use crate::testing::{FakeService, KeySet, Random, ServiceSettings};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

pub const QUEUE: &str = "copies";
pub const POISON: &str = "copies-poison";
/// A message that is received with a text of 60 KiB: longer than can be sent, as another program's,
/// which is no base64, may be.
pub const LONG: &str = "long";
pub type Key = (String, String);
pub type Distributed = DistributedScan<DynamicEntity, crate::scan::Untyped>;

pub fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A table of generated rows, a control table and queues.
pub struct World {
    pub service: FakeService,
    /// The store through which its rows are read.
    pub source: Tables,
    /// Writes to the control table.
    pub counted: Writes,
    pub control: Tables,
    pub queues: TestQueues,
    /// How often each row was handled, and each page.
    pub handled: Arc<Mutex<BTreeMap<Key, usize>>>,
    pub seed: u64,
    pub workers: AtomicU64,
}

impl World {
    pub async fn new(keys: impl IntoIterator<Item = Key>, page_rows: usize) -> Self {
        let latency = (Duration::from_millis(5), Duration::from_millis(20));
        let settings = ServiceSettings { page_rows, latency, ..Default::default() };
        let service = FakeService::new(KeySet::new(keys), settings);
        Self::of(service, EmbeddedStore::in_memory().unwrap()).await
    }

    /// The same, whose writes to the control table are counted.
    pub async fn counting(keys: impl IntoIterator<Item = Key>, page_rows: usize) -> Self {
        let service = Self::new(keys, page_rows).await.service;
        let writes = Writes::default();
        let store = writes.around(Arc::new(EmbeddedStore::in_memory().unwrap()));
        Self { counted: writes, ..Self::of(service, store).await }
    }

    /// The same, whose rows are read through a store.
    pub fn reading(self, source: impl Store + 'static) -> Self {
        Self { source: Tables::new(source), ..self }
    }

    /// How many writes and transactions the control table has seen.
    pub fn writes(&self) -> u64 {
        self.counted.count()
    }

    pub async fn of(service: FakeService, control: impl Store + 'static) -> Self {
        let control = Tables::new(control);
        // A store with faults may say so although the table exists.
        while control
            .create(&control_name())
            .await
            .is_err_and(|error| !matches!(error, Error::AlreadyExists(_)))
        {}
        let (queues, handled) = (TestQueues::default(), Arc::default());
        let source = Tables::new(service.clone());
        let writes = Writes::default();
        Self {
            service,
            source,
            counted: writes,
            control,
            queues,
            handled,
            seed: 1,
            workers: AtomicU64::new(1),
        }
    }

    pub fn control(&self) -> Table {
        self.control.table(control_name())
    }

    pub fn plain(&self) -> Scan<DynamicEntity> {
        let table = TableName::new("things").unwrap();
        self.source.scan(table, ScanPermit::because("test"))
    }

    pub fn distribute(&self, scan: Scan<DynamicEntity>) -> Distributed {
        let scan = scan.concurrency(1);
        scan.distributed("test", &self.control(), self.queues.clone(), QUEUE).seeded(self.seed)
    }

    pub fn scan(&self) -> Distributed {
        self.distribute(self.plain())
    }

    /// A worker of the scan, that takes `each` for a page.
    pub async fn work(&self, each: Duration) -> Result<WorkerReport> {
        self.work_on(&self.scan(), each).await
    }

    /// A worker of that scan. No two workers use the same random numbers.
    pub async fn work_on(&self, scan: &Distributed, each: Duration) -> Result<WorkerReport> {
        let number = self.workers.fetch_add(1, Ordering::Relaxed);
        let scan = scan.clone().seeded(1000 * self.seed + number);
        scan.work(|page| {
            let page = self.note(page);
            async move {
                tokio::time::sleep(each).await;
                drop(page);
                Ok(())
            }
        })
        .await
    }

    /// Counts a page's rows as handled.
    pub fn note(&self, page: WorkPage<DynamicEntity>) -> (RowHead, RowHead) {
        let mut handled = self.handled.lock().unwrap();
        for row in page.rows {
            *handled.entry((row.partition_key, row.row_key)).or_default() += 1;
        }
        (page.id.first, page.last)
    }

    /// Checks that every row was handled, and at most `twice` of them twice.
    pub fn assert_all_handled(&self, twice: usize) {
        let handled = self.handled.lock().unwrap();
        let all: BTreeSet<Key> =
            self.service.keys().iter().map(|(pk, rk)| (pk.into_owned(), rk.into_owned())).collect();
        let missing: Vec<_> = all.iter().filter(|key| !handled.contains_key(*key)).collect();
        assert!(missing.is_empty(), "{} rows lost, as {:?}", missing.len(), missing.first());
        assert_eq!(handled.len(), all.len(), "rows from nowhere");
        let again: usize = handled.values().map(|count| count - 1).sum();
        assert!(again <= twice, "{again} rows came again, and {twice} may");
    }
}

pub fn control_name() -> TableName {
    TableName::new("scans").unwrap()
}

/// Numbered partitions of one row.
pub fn numbered(rows: usize) -> impl Iterator<Item = Key> {
    (0..rows).map(|row| (format!("{row:06}"), String::new()))
}

/// Rows of one partition.
pub fn one_partition(rows: usize) -> impl Iterator<Item = Key> {
    (0..rows).map(|row| ("all".to_owned(), format!("{row:06}")))
}

/// Queues in memory that count calls, and fail or wait as a test asks.
#[derive(Debug, Clone, Default)]
pub struct TestQueues {
    pub inner: MemoryQueues,
    shared: Arc<Mutex<Meddling>>,
}

#[derive(Debug, Default)]
struct Meddling {
    calls: BTreeMap<&'static str, u64>,
    texts: Vec<String>,
    lose_sends: bool,
    slow_receives: Duration,
    double_sends: bool,
    failing: Option<(f64, Random)>,
}

impl TestQueues {
    pub fn calls(&self, name: &str) -> u64 {
        self.shared.lock().unwrap().calls.get(name).copied().unwrap_or_default()
    }

    pub fn all_calls(&self) -> u64 {
        self.shared.lock().unwrap().calls.values().sum()
    }

    /// The messages that were sent.
    pub fn texts(&self) -> Vec<String> {
        self.shared.lock().unwrap().texts.clone()
    }

    pub fn lose_sends(&self, lose: bool) {
        self.shared.lock().unwrap().lose_sends = lose;
    }

    pub fn double_sends(&self) {
        self.shared.lock().unwrap().double_sends = true;
    }

    /// Lets each receive take that long.
    pub fn slow_receives(&self, time: Duration) {
        self.shared.lock().unwrap().slow_receives = time;
    }

    /// Lets a part of all calls fail, half of them after they took effect.
    pub fn fail(&self, part: f64, seed: u64) {
        self.shared.lock().unwrap().failing = Some((part, Random::new(seed)));
    }

    /// Counts a call. Returns the error to fail with, before or after the call takes effect.
    fn call(&self, name: &'static str) -> (Result<(), QueueError>, Result<(), QueueError>) {
        let mut shared = self.shared.lock().unwrap();
        *shared.calls.entry(name).or_default() += 1;
        let Some((part, random)) = &mut shared.failing else { return (Ok(()), Ok(())) };
        let fault = || Err(QueueError::new(QueueErrorKind::Unavailable, QUEUE, "on purpose"));
        let sample = random.fraction();
        match sample {
            _ if sample < *part / 2.0 => (fault(), Ok(())),
            _ if sample < *part => (Ok(()), fault()),
            _ => (Ok(()), Ok(())),
        }
    }
}

macro_rules! meddled {
    ($self:ident, $name:literal, $call:expr) => {{
        let (before, after) = $self.call($name);
        before?;
        let answer = $call.await?;
        after.map(|()| answer)
    }};
}

#[async_trait]
impl Queues for TestQueues {
    async fn create(&self, queue: &str) -> Result<(), QueueError> {
        self.inner.create(queue).await
    }

    async fn delete(&self, queue: &str) -> Result<(), QueueError> {
        self.inner.delete(queue).await
    }

    async fn send(&self, queue: &str, text: &str, delay: Duration) -> Result<(), QueueError> {
        let times = {
            let mut shared = self.shared.lock().unwrap();
            shared.texts.push(text.to_owned());
            if shared.lose_sends { 0 } else { 1 + usize::from(shared.double_sends) }
        };
        for _ in 1..times {
            self.inner.send(queue, text, delay).await?;
        }
        if times == 0 {
            return Ok(());
        }
        meddled!(self, "send", self.inner.send(queue, text, delay))
    }

    async fn receive(
        &self,
        queue: &str,
        most: usize,
        visibility: Duration,
    ) -> Result<Vec<Message>, QueueError> {
        let time = self.shared.lock().unwrap().slow_receives;
        tokio::time::sleep(time).await;
        let received = meddled!(self, "receive", self.inner.receive(queue, most, visibility));
        received.map(|mut messages: Vec<Message>| {
            for message in messages.iter_mut().filter(|message| message.text == LONG) {
                message.text = format!("x{}", "ß".repeat(30 * 1024));
            }
            messages
        })
    }

    async fn peek(&self, queue: &str) -> Result<bool, QueueError> {
        meddled!(self, "peek", self.inner.peek(queue))
    }

    async fn renew(
        &self,
        queue: &str,
        receipt: &Receipt,
        visibility: Duration,
    ) -> Result<Receipt, QueueError> {
        meddled!(self, "renew", self.inner.renew(queue, receipt, visibility))
    }

    async fn remove(&self, queue: &str, receipt: &Receipt) -> Result<(), QueueError> {
        meddled!(self, "remove", self.inner.remove(queue, receipt))
    }
}

/// A future that can be put to sleep, as a machine that is suspended.
pub struct Sleeper<F> {
    inner: Pin<Box<F>>,
    asleep: Arc<AtomicBool>,
}

impl<F> Sleeper<F> {
    pub fn new(inner: F, asleep: &Arc<AtomicBool>) -> Self {
        Self { inner: Box::pin(inner), asleep: Arc::clone(asleep) }
    }
}

impl<F: Future> Future for Sleeper<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.asleep.load(Ordering::Relaxed) {
            // Checks again a second later whether it is awake.
            let waker = cx.waker().clone();
            tokio::spawn(async move {
                tokio::time::sleep(seconds(1)).await;
                waker.wake();
            });
            return Poll::Pending;
        }
        self.inner.as_mut().poll(cx)
    }
}
