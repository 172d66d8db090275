//! Writes of many entities: chunked into entity group transactions, several under way at a time.
//!
//! Invariants: the rows of one entity are never in two transactions; two entities that have a row
//! in common are written in the order given, the second when the first is answered; an entity is in
//! the report as written, as failed, or in the remainder, and in one of them only; no more entities
//! are in memory at a time than fill [`OPEN_PARTITIONS`] chunks and twice `parallelism`, besides those
//! that failed, however long the input is.

use super::channel::Channel;
use super::guarded::{CanonicalKey, MAX_ATTEMPTS};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::store::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS, Operation, Transaction};
use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

/// How many partitions are collected at a time before the fullest chunk is sent.
pub const OPEN_PARTITIONS: usize = 64;
/// How many transactions are under way at a time, unless told otherwise.
pub const DEFAULT_PARALLELISM: usize = 16;

/// A write of many entities: `.await` sends it.
///
/// Entities of one partition go together, up to 100 operations and 4 MiB a transaction. Entities
/// that have a row in common are written in the order given; others may overtake each other. The
/// input is read as it is needed.
#[must_use = "nothing is sent until this is awaited"]
pub struct Bulk<'a, E, I> {
    channel: Channel,
    input: I,
    grouping: Grouping<E>,
    parallelism: usize,
    continues: bool,
    progress: Option<Box<dyn FnMut(BulkProgress) + Send + 'a>>,
}

/// How entities travel.
pub(super) struct Grouping<E> {
    /// The operations that write an entity: those that are sent, or at least those of its rows.
    pub operations: fn(&E) -> Result<Transaction>,
    /// Sends one by itself, where its operations depend on what is stored.
    pub alone: Option<SendAlone<E>>,
}

impl<E> Clone for Grouping<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Grouping<E> {}

/// Sends one entity and gives it back with the answer.
pub(super) type SendAlone<E> = fn(Channel, E) -> BoxFuture<'static, (E, Result<()>)>;
/// What was sent, and the answer.
type Sent<E> = (Chunk<E>, Result<()>);

/// How far a bulk write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct BulkProgress {
    /// Entities written.
    pub entities: u64,
    /// Rows written: all rows of these entities.
    pub rows: u64,
    /// Requests answered.
    pub requests: u64,
}

/// What became of a bulk write.
#[must_use = "it may hold failures; `.all()?` gives the counts, or the first of them"]
#[non_exhaustive]
pub struct BulkReport<E, I> {
    /// What was written.
    pub written: BulkProgress,
    /// The entities that could not be written, each with the reason. After the first one nothing
    /// more is sent, unless the write [continues](Bulk::continue_on_failure).
    pub failures: Vec<BulkFailure<E>>,
    /// What was not written: entities that shared a transaction with a failed one, and the input
    /// that was not reached. Pass it to the same call again to go on.
    pub remainder: Remainder<E, I>,
}

/// A bulk write that stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct BulkFailure<E> {
    /// The entity the store refused; `None` when the whole request failed.
    pub entity: Option<E>,
    /// Why.
    pub error: Error,
}

/// The input that a bulk write has not written.
pub struct Remainder<E, I> {
    unsent: std::vec::IntoIter<E>,
    input: I,
}

impl<E, I> Remainder<E, I> {
    pub(super) fn new(unsent: Vec<E>, input: I) -> Self {
        Self { unsent: unsent.into_iter(), input }
    }
}

impl<E, I: Iterator<Item = E>> Iterator for Remainder<E, I> {
    type Item = E;

    fn next(&mut self) -> Option<E> {
        self.unsent.next().or_else(|| self.input.next())
    }
}

impl<E, I> Remainder<E, I> {
    /// How many entities it holds besides the input that was not reached.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }
}

impl<E, I> BulkReport<E, I> {
    /// The counts, if everything was written.
    ///
    /// # Errors
    /// The first failure.
    pub fn all(self) -> Result<BulkProgress> {
        match self.failures.into_iter().next() {
            None => Ok(self.written),
            Some(failure) => Err(failure.error),
        }
    }
}

impl<E: fmt::Debug, I> fmt::Debug for BulkReport<E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkReport")
            .field("written", &self.written)
            .field("failures", &self.failures)
            .field("unsent", &self.remainder.unsent())
            .finish_non_exhaustive()
    }
}

impl<E, I> fmt::Debug for Bulk<'_, E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl<'a, E, I> Bulk<'a, E, I> {
    pub(super) fn new(channel: Channel, input: I, grouping: Grouping<E>) -> Self {
        let parallelism = DEFAULT_PARALLELISM;
        Self { channel, input, grouping, parallelism, continues: false, progress: None }
    }

    /// Has at most `requests` transactions under way at a time; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Goes on after an entity that the store or a limit refuses: it is reported, and the others of
    /// its transaction are sent without it. What would meet the next entity too still ends the
    /// write: a store that is throttling, gives no usable answer or does not know the credential, a
    /// table that is not there.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32 }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # readings.insert(&Reading { sensor: "roof".into(), minute: 5 }).await?;
    /// let day = (0..1440).map(|minute| Reading { sensor: "roof".into(), minute });
    /// let report = readings.insert_many(day).continue_on_failure().await;
    /// assert_eq!((report.written.entities, report.failures.len()), (1439, 1));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn continue_on_failure(mut self) -> Self {
        self.continues = true;
        self
    }

    /// Calls `progress` after each answer.
    pub fn on_progress(mut self, progress: impl FnMut(BulkProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl<E: Send + 'static, I: Iterator<Item = E>> Bulk<'_, E, I> {
    /// What it will send, in no certain order; reads the whole input, and sends nothing.
    ///
    /// # Errors
    /// The first entity that the service would refuse.
    pub fn plan(self) -> Result<Plan> {
        Run::new(self).plan()
    }
}

/// Entities of one partition that travel together.
pub(super) struct Chunk<E> {
    entities: Vec<E>,
    /// How many operations each entity has.
    sizes: Vec<usize>,
    transaction: Transaction,
    bytes: usize,
    /// The RowKeys of the operations, once they are sent.
    keys: Vec<String>,
}

impl<E> Chunk<E> {
    fn new(partition_key: String) -> Self {
        let transaction = Transaction { partition_key, operations: Vec::new() };
        Self { entities: Vec::new(), sizes: Vec::new(), transaction, bytes: 0, keys: Vec::new() }
    }

    /// An entity with its operations.
    fn of(entity: E, Transaction { partition_key, operations }: Transaction) -> Self {
        let mut chunk = Self::new(partition_key);
        chunk.push(entity, operations);
        chunk
    }

    fn partition_key(&self) -> &str {
        &self.transaction.partition_key
    }

    /// Whether it writes a row that `other` writes too.
    fn meets(&self, other: &Self) -> bool {
        self.partition_key() == other.partition_key()
            && !other.takes_rows(&self.transaction.operations)
    }

    fn takes_rows(&self, operations: &[Operation]) -> bool {
        let here = &self.transaction.operations;
        !operations.iter().any(|new| here.iter().any(|old| old.row_key == new.row_key))
    }

    /// Whether the operations fit beside those here, and touch none of their rows.
    fn takes(&self, operations: &[Operation]) -> bool {
        let here = &self.transaction.operations;
        here.is_empty()
            || here.len() + operations.len() <= MAX_TRANSACTION_OPERATIONS
                && self.bytes + bytes(operations) <= MAX_TRANSACTION_BYTES
                && self.takes_rows(operations)
    }

    fn push(&mut self, entity: E, operations: Vec<Operation>) {
        self.bytes += bytes(&operations);
        self.sizes.push(operations.len());
        self.entities.push(entity);
        self.transaction.operations.extend(operations);
    }

    /// The entity that the operation of that index belongs to.
    fn owner(&self, operation: usize) -> Option<usize> {
        let mut end = 0;
        self.sizes.iter().position(|size| {
            end += size;
            operation < end
        })
    }
}

/// About what the operations take in a request: bodies, keys, and the parts around them.
pub(super) fn bytes(operations: &[Operation]) -> usize {
    const PART: usize = 512;
    let of = |operation: &Operation| {
        PART + operation.row_key.len() + operation.action.body().map_or(0, bytes::Bytes::len)
    };
    operations.iter().map(of).sum()
}

struct Run<'a, E, I> {
    bulk: Bulk<'a, E, I>,
    /// Chunks that are being collected, oldest first.
    open: Vec<Chunk<E>>,
    /// Chunks to be sent, oldest first.
    ready: VecDeque<Chunk<E>>,
    /// The rows of requests under way, by partition.
    busy: HashMap<String, HashSet<String>>,
    written: BulkProgress,
    failures: Vec<BulkFailure<E>>,
    unsent: Vec<E>,
    /// Whether nothing more is sent.
    stopped: bool,
}

impl<'a, E: Send + 'static, I: Iterator<Item = E>> Run<'a, E, I> {
    fn new(bulk: Bulk<'a, E, I>) -> Self {
        Self {
            bulk,
            open: Vec::new(),
            ready: VecDeque::new(),
            busy: HashMap::new(),
            written: BulkProgress::default(),
            failures: Vec::new(),
            unsent: Vec::new(),
            stopped: false,
        }
    }

    fn plan(mut self) -> Result<Plan> {
        let mut steps = Vec::new();
        while let Some(chunk) = self.next_closed() {
            let Bulk { channel, grouping, .. } = &self.bulk;
            let plan = match (grouping.alone, chunk.transaction.operations.first()) {
                (Some(_), Some(canonical)) => CanonicalKey {
                    partition_key: chunk.transaction.partition_key.clone(),
                    row_key: canonical.row_key.clone(),
                }
                .plan(channel, Some(chunk.transaction), MAX_ATTEMPTS),
                _ => Plan::write(&channel.table, chunk.transaction),
            };
            steps.extend(plan.steps);
        }
        match self.failures.into_iter().next() {
            Some(failure) => Err(failure.error),
            None => Ok(Plan { steps }),
        }
    }

    async fn run(mut self) -> BulkReport<E, I> {
        let mut under_way = FuturesUnordered::<BoxFuture<'static, Sent<E>>>::new();
        loop {
            while !self.stopped && under_way.len() < self.bulk.parallelism {
                match self.next_chunk() {
                    Some(chunk) => under_way.push(self.send(chunk)),
                    None => break,
                }
            }
            match under_way.next().await {
                Some((chunk, result)) => self.answered(chunk, result),
                None => break,
            }
        }
        let left = self.ready.into_iter().chain(self.open);
        self.unsent.extend(left.flat_map(|chunk| chunk.entities));
        BulkReport {
            written: self.written,
            failures: self.failures,
            remainder: Remainder { unsent: self.unsent.into_iter(), input: self.bulk.input },
        }
    }

    /// The next chunk none of whose rows is being written; `None` when all wait for an answer, or
    /// nothing is left.
    fn next_chunk(&mut self) -> Option<Chunk<E>> {
        loop {
            if let Some(place) = self.sendable() {
                return self.ready.remove(place);
            }
            if self.stopped || self.ready.len() >= self.bulk.parallelism {
                return None;
            }
            let chunk = self.next_closed()?;
            self.ready.push_back(chunk);
        }
    }

    fn sendable(&self) -> Option<usize> {
        (0..self.ready.len()).find(|&place| {
            let chunk = &self.ready[place];
            let busy = self.busy.get(chunk.partition_key());
            let waits =
                |operation: &Operation| busy.is_some_and(|rows| rows.contains(&operation.row_key));
            !chunk.transaction.operations.iter().any(waits)
                && !self.ready.range(..place).any(|earlier| chunk.meets(earlier))
        })
    }

    /// The next chunk that takes no more entities: a full one, or the rest at the end of the input.
    fn next_closed(&mut self) -> Option<Chunk<E>> {
        while let Some(entity) = self.bulk.input.next() {
            let transaction = match (self.bulk.grouping.operations)(&entity) {
                Ok(transaction) => transaction,
                Err(error) => {
                    self.fail(Some(entity), error);
                    if self.stopped {
                        return None;
                    }
                    continue;
                }
            };
            if self.bulk.grouping.alone.is_some() {
                return Some(Chunk::of(entity, transaction));
            }
            let place = self
                .open
                .iter()
                .position(|chunk| *chunk.partition_key() == transaction.partition_key);
            let full = match place {
                Some(place) if self.open[place].takes(&transaction.operations) => {
                    self.open[place].push(entity, transaction.operations);
                    continue;
                }
                Some(place) => Some(self.open.remove(place)),
                None if self.open.len() >= OPEN_PARTITIONS => self.fullest(),
                None => None,
            };
            self.open.push(Chunk::of(entity, transaction));
            if full.is_some() {
                return full;
            }
        }
        self.fullest()
    }

    fn fullest(&mut self) -> Option<Chunk<E>> {
        let sizes = self.open.iter().map(|chunk| chunk.transaction.operations.len());
        let (place, _) = sizes.enumerate().max_by_key(|(_, size)| *size)?;
        Some(self.open.remove(place))
    }

    fn send(&mut self, mut chunk: Chunk<E>) -> BoxFuture<'static, Sent<E>> {
        let operations = &chunk.transaction.operations;
        chunk.keys = operations.iter().map(|operation| operation.row_key.clone()).collect();
        let busy = self.busy.entry(chunk.partition_key().to_owned()).or_default();
        busy.extend(chunk.keys.iter().cloned());
        let channel = self.bulk.channel.clone();
        match (self.bulk.grouping.alone, chunk.entities.pop()) {
            (Some(alone), Some(entity)) => Box::pin(async move {
                let (entity, sent) = alone(channel, entity).await;
                chunk.entities.push(entity);
                (chunk, sent)
            }),
            (_, last) => {
                chunk.entities.extend(last);
                send(channel, chunk)
            }
        }
    }

    fn answered(&mut self, mut chunk: Chunk<E>, result: Result<()>) {
        self.written.requests += 1;
        if let Some(busy) = self.busy.get_mut(chunk.partition_key()) {
            for key in &chunk.keys {
                busy.remove(key);
            }
            if busy.is_empty() {
                self.busy.remove(chunk.partition_key());
            }
        }
        match result {
            Ok(()) => {
                self.written.entities += chunk.entities.len() as u64;
                self.written.rows += chunk.sizes.iter().sum::<usize>() as u64;
            }
            Err(error) => {
                let operation = error.refusal().and_then(|refusal| refusal.operation);
                let owner = match operation {
                    _ if chunk.entities.len() == 1 => Some(0),
                    Some((index, _)) => chunk.owner(index),
                    None => None,
                };
                self.stopped |= !error.is_of_one_entity();
                let nobodys = owner.is_none();
                let entity = owner.map(|index| chunk.entities.remove(index));
                if !nobodys || self.stopped || !self.bulk.continues {
                    self.fail(entity, error);
                }
                self.try_again(chunk.entities, nobodys);
            }
        }
        if let Some(progress) = &mut self.bulk.progress {
            progress(self.written);
        }
    }

    fn fail(&mut self, entity: Option<E>, error: Error) {
        self.failures.push(BulkFailure { entity, error });
        self.stopped |= !self.bulk.continues;
    }

    /// Entities that shared a transaction with one that failed: sent again without it; or each by
    /// itself, when it is not known which one failed.
    fn try_again(&mut self, entities: Vec<E>, each: bool) {
        if self.stopped {
            return self.unsent.extend(entities);
        }
        let mut again: VecDeque<Chunk<E>> = VecDeque::new();
        for entity in entities {
            match ((self.bulk.grouping.operations)(&entity), again.back_mut()) {
                (Ok(transaction), Some(chunk)) if !each => {
                    chunk.push(entity, transaction.operations);
                }
                (Ok(transaction), _) => again.push_back(Chunk::of(entity, transaction)),
                (Err(error), _) => self.fail(Some(entity), error),
            }
        }
        while let Some(chunk) = again.pop_back() {
            self.ready.push_front(chunk);
        }
    }
}

/// Sends a chunk and gives it back with the answer.
fn send<E: Send + 'static>(channel: Channel, mut chunk: Chunk<E>) -> BoxFuture<'static, Sent<E>> {
    let operations = std::mem::take(&mut chunk.transaction.operations);
    let partition_key = chunk.transaction.partition_key.clone();
    Box::pin(async move {
        // Canonical rows are written under a condition that no index row's deletion has.
        let sent = channel.send_changes(Transaction { partition_key, operations }, "").await;
        (chunk, sent.map(drop))
    })
}

impl<'a, E, I> IntoFuture for Bulk<'a, E, I>
where
    E: Send + 'static,
    I: Iterator<Item = E> + Send + 'a,
{
    type Output = BulkReport<E, I>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let run = Run::new(self);
        Box::pin(run.run())
    }
}
