//! Writes of many entities: chunked into entity group transactions, several under way at a time.
//!
//! Invariants: the rows of one entity are never in two transactions; an entity is in the report as
//! written, as failed, or in the remainder, and in one of them only; no more than
//! [`OPEN_PARTITIONS`] chunks and `parallelism` requests are in memory at a time, however long the
//! input is.

use super::channel::Channel;
use crate::error::{Error, Result};
use crate::store::{MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS, Operation, Transaction};
use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use std::fmt;

/// How many partitions are collected at a time before the fullest chunk is sent.
pub const OPEN_PARTITIONS: usize = 64;
/// How many transactions are under way at a time, unless told otherwise.
pub const DEFAULT_PARALLELISM: usize = 16;

/// A write of many entities: `.await` sends it.
///
/// Entities of one partition go together, up to 100 operations and 4 MiB a transaction, in the
/// order given. The input is read as it is needed.
#[must_use = "nothing is sent until this is awaited"]
pub struct Bulk<'a, E, I> {
    channel: Channel,
    input: I,
    grouping: Grouping<E>,
    parallelism: usize,
    progress: Option<Box<dyn FnMut(BulkProgress) + Send + 'a>>,
}

/// How entities travel.
pub(super) enum Grouping<E> {
    /// Several of one partition in a transaction, by their operations.
    Together(fn(&E) -> Result<Transaction>),
    /// Each by itself, for its operations depend on what is stored.
    Each(fn(Channel, E) -> BoxFuture<'static, Sent<E>>),
}

/// What was sent, and the answer.
type Sent<E> = (Chunk<E>, Result<()>);

/// How far a bulk write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BulkProgress {
    /// Entities written.
    pub entities: u64,
    /// Rows written: all rows of these entities.
    pub rows: u64,
    /// Requests answered.
    pub requests: u64,
}

/// What became of a bulk write.
pub struct BulkReport<E, I> {
    /// What was written.
    pub written: BulkProgress,
    /// The entities that could not be written, each with the reason. After the first one nothing
    /// more is sent.
    pub failures: Vec<BulkFailure<E>>,
    /// What was not written: entities that shared a transaction with a failed one, and the input
    /// that was not reached. Pass it to the same call again to go on.
    pub remainder: Remainder<E, I>,
}

/// A bulk write that stopped.
#[derive(Debug)]
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
        Self { channel, input, grouping, parallelism: DEFAULT_PARALLELISM, progress: None }
    }

    /// Has at most `requests` transactions under way at a time; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Calls `progress` after each answer.
    pub fn on_progress(mut self, progress: impl FnMut(BulkProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

/// Entities of one partition that travel together.
pub(super) struct Chunk<E> {
    entities: Vec<E>,
    /// How many operations each entity has.
    sizes: Vec<usize>,
    transaction: Transaction,
    bytes: usize,
}

impl<E> Chunk<E> {
    fn new(partition_key: String) -> Self {
        let transaction = Transaction { partition_key, operations: Vec::new() };
        Self { entities: Vec::new(), sizes: Vec::new(), transaction, bytes: 0 }
    }

    /// An entity that travels by itself, written in `rows` rows.
    pub(super) fn single(entity: E, rows: usize) -> Self {
        Self { entities: vec![entity], sizes: vec![rows], ..Self::new(String::new()) }
    }

    /// Whether the operations fit beside those here, and touch none of their rows.
    fn takes(&self, operations: &[Operation]) -> bool {
        let here = &self.transaction.operations;
        here.is_empty()
            || here.len() + operations.len() <= MAX_TRANSACTION_OPERATIONS
                && self.bytes + bytes(operations) <= MAX_TRANSACTION_BYTES
                && !operations.iter().any(|new| here.iter().any(|old| old.row_key == new.row_key))
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
    written: BulkProgress,
    failures: Vec<BulkFailure<E>>,
    unsent: Vec<E>,
}

impl<E: Send + 'static, I: Iterator<Item = E>> Run<'_, E, I> {
    async fn run(mut self) -> BulkReport<E, I> {
        let mut under_way = FuturesUnordered::<BoxFuture<'static, Sent<E>>>::new();
        loop {
            while self.failures.is_empty() && under_way.len() < self.bulk.parallelism {
                match self.next_request() {
                    Some(request) => under_way.push(request),
                    None => break,
                }
            }
            match under_way.next().await {
                Some((chunk, result)) => self.answered(chunk, result),
                None => break,
            }
        }
        self.unsent.extend(self.open.into_iter().flat_map(|chunk| chunk.entities));
        BulkReport {
            written: self.written,
            failures: self.failures,
            remainder: Remainder::new(self.unsent, self.bulk.input),
        }
    }

    fn next_request(&mut self) -> Option<BoxFuture<'static, Sent<E>>> {
        let channel = self.bulk.channel.clone();
        match self.bulk.grouping {
            Grouping::Together(operations) => {
                self.next_chunk(operations).map(|chunk| send(channel, chunk))
            }
            Grouping::Each(send) => self.bulk.input.next().map(|entity| send(channel, entity)),
        }
    }

    /// The next chunk to send: a full one, or the rest at the end of the input.
    fn next_chunk(&mut self, operations: fn(&E) -> Result<Transaction>) -> Option<Chunk<E>> {
        while let Some(entity) = self.bulk.input.next() {
            let Transaction { partition_key, operations } = match operations(&entity) {
                Ok(transaction) => transaction,
                Err(error) => {
                    self.failures.push(BulkFailure { entity: Some(entity), error });
                    return None;
                }
            };
            let place =
                self.open.iter().position(|chunk| chunk.transaction.partition_key == partition_key);
            let full = match place {
                Some(place) if self.open[place].takes(&operations) => {
                    self.open[place].push(entity, operations);
                    continue;
                }
                Some(place) => Some(self.open.remove(place)),
                None if self.open.len() >= OPEN_PARTITIONS => self.fullest(),
                None => None,
            };
            let mut chunk = Chunk::new(partition_key);
            chunk.push(entity, operations);
            self.open.push(chunk);
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

    fn answered(&mut self, mut chunk: Chunk<E>, result: Result<()>) {
        self.written.requests += 1;
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
                let entity = owner.map(|index| chunk.entities.remove(index));
                self.failures.push(BulkFailure { entity, error });
                self.unsent.append(&mut chunk.entities);
            }
        }
        if let Some(progress) = &mut self.bulk.progress {
            progress(self.written);
        }
    }
}

/// Sends a chunk and gives it back with the answer.
fn send<E: Send + 'static>(channel: Channel, mut chunk: Chunk<E>) -> BoxFuture<'static, Sent<E>> {
    let operations = std::mem::take(&mut chunk.transaction.operations);
    let partition_key = chunk.transaction.partition_key.clone();
    Box::pin(async move {
        // Canonical rows are written under a condition that no index row's deletion has.
        let sent = channel.send_changes(&Transaction { partition_key, operations }, "").await;
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
        let run = Run {
            bulk: self,
            open: Vec::new(),
            written: BulkProgress::default(),
            failures: Vec::new(),
            unsent: Vec::new(),
        };
        Box::pin(run.run())
    }
}
