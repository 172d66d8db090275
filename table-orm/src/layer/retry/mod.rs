//! Tries again after faults that pass, and finds out what became of a write whose answer was lost.
//!
//! # What is tried again
//!
//! Transport faults, timeouts, and the statuses 408, 429, 500, 502, 503 and 504, also where one
//! operation of a transaction has them, but for 408. Never another 4xx, 501 or 505, nor a
//! credential that gives no token, which has tried again by itself. The wait is the [`Strategy`]'s,
//! or the service's `Retry-After` where that is longer, up to an hour; a first fault of the
//! transport is tried again at once. A call whose next wait would pass the deadline ends instead.
//!
//! # Ambiguous writes
//!
//! No answer, a timeout or a server error does not tell whether a write took effect; a connection
//! that never came about, or throttling, tells that it did not. When a write that may have arrived
//! is sent again, an insert may then find its own row (409), a delete nothing (404), and an update
//! its own new version (412). A caller must not see a conflict of a write with itself, and must not
//! see success where another writer won. So after such a fault the outcome is
//!
//! - success, when the write is known to have taken effect;
//! - the store's refusal, when it is known not to have;
//! - else [`Error::Ambiguous`](crate::Error::Ambiguous), with all that is known in its
//!   [`Ambiguity`]. It is never a guess.
//!
//! Behind this layer every other error of a write therefore means that it did not take effect.
//!
//! ## Why a write id, and not a comparison of content
//!
//! It is tempting to compare the stored row with what was sent, and to call equality success. That
//! is wrong exactly where it matters: two writers that read a counter of 5 both send 6. One wins,
//! the other's answer is lost; it finds a 6, takes it for its own, and an increment is gone. The
//! same holds for two that insert equal lock rows. Different content proves nothing either: ours
//! may have been there and been replaced since.
//!
//! So [`Retry::write_id`] names a property in which every write leaves a random id, and, when it is
//! guarded by an ETag, the ETag it replaced. A look at the row then tells:
//!
//! - our id: the write took effect, and the row's ETag is the one the answer would have carried;
//! - another id that replaced the version we meant to replace: it did not, for a version is
//!   replaced once;
//! - a Timestamp from before the write was first sent, by more than the 15 minutes that the
//!   service allows clocks to differ: it did not, for a write of ours would have been later. This
//!   needs no id. It is used where a request still on its way could no longer succeed: for inserts,
//!   and where the row's ETag is not the one asked for.
//!
//! In an entity group transaction one row that tells, tells for all. Rows of it that another write
//! has replaced since, or that cannot be read back, get an ETag that matches no row.
//!
//! It is opt-in because stored rows are a contract with other tools: it takes one of 252
//! properties and about 70 to 170 bytes a row (count it against 1 MiB and 4 MiB), and other tools
//! see it. Typed entities do not, but for those with a map of all other properties. All writers of a table must use the same property: one that
//! merges without it leaves our id on its own version. Without a write id, only the Timestamp
//! tells, and most writes whose answer was lost and whose retry was refused end `Ambiguous`.
//!
//! ## What no client can know
//!
//! - A deleted row says nothing: a single delete whose retry finds none ends `Ambiguous`. In a
//!   transaction with a write beside it, that one tells.
//! - An unguarded write that is sent twice can take effect twice, with another write between: an
//!   upsert then restores its content, an insert a row that was deleted meanwhile. A request that
//!   was given up may even arrive later. Writes that are guarded by an ETag take effect once.
//! - Creating or deleting a table leaves no id: after a lost answer, "already there" and "not
//!   there" are `Ambiguous`.
//!
//! # Cancellation
//!
//! A dropped call stops; what it had sent may take effect. The layer keeps no state of a call.

mod fault;
mod strategy;
mod verdict;
mod write_id;

pub use strategy::{MAX_RETRIES, MAX_WAIT, Strategy};

use super::{Layer, LayerError, error, tally};
use crate::model::{DateTime, ETag, Metadata, TableName};
use crate::query::RowQuery;
use crate::store::{Ambiguity, Batch, ErrorCode, Operation, Page, Store, StoreError, StoredRow};
use crate::sync::Random;
use async_trait::async_trait;
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use verdict::{Sent, Sign, superseded};
use write_id::WriteIdProperty;

/// The longest timeout or deadline that can be asked for: 1 day.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// The retry layer's settings. See the [module](self) for what it promises.
///
/// ```
/// use std::time::Duration;
/// use table_orm::Tables;
/// use table_orm::layer::Retry;
///
/// # fn run() -> table_orm::Result<()> {
/// let patient = Retry::classic().deadline(Duration::from_secs(600)).write_id("WriteId");
/// let tables = Tables::in_memory()?.layer(patient)?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct Retry {
    strategy: Strategy,
    attempt: Option<Duration>,
    deadline: Option<Duration>,
    write_id: Option<Cow<'static, str>>,
    leaves_throttling: bool,
    seed: Option<u64>,
}

impl Retry {
    /// A strategy of your own, without timeouts.
    pub const fn new(strategy: Strategy) -> Self {
        Self {
            strategy,
            attempt: None,
            deadline: None,
            write_id: None,
            leaves_throttling: false,
            seed: None,
        }
    }

    /// [`Strategy::INTERACTIVE`]; 30 s for an attempt, the service's own limit for most requests;
    /// 60 s for a call.
    pub const fn interactive() -> Self {
        let mut retry = Self::new(Strategy::INTERACTIVE);
        retry.attempt = Some(Duration::from_secs(30));
        retry.deadline = Some(Duration::from_secs(60));
        retry
    }

    /// [`Strategy::CLASSIC`]; 30 s for an attempt, no deadline. A request with its retries takes 6
    /// minutes at most, where the service asks for no longer waits; a write whose answers are lost
    /// takes as long once more for each of its rows, to see what became of it.
    pub const fn classic() -> Self {
        let mut retry = Self::new(Strategy::CLASSIC);
        retry.attempt = Some(Duration::from_secs(30));
        retry
    }

    /// How long one request may take before it is given up and counts as not answered. The time
    /// that it waits in a [limit](super::Limit) below counts too.
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt = Some(timeout);
        self
    }

    /// How long a call may take with all its requests and waits.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Leaves an id in this property of every row written, to recognise lost answers by. See the
    /// [module](self).
    ///
    /// No entity may have a property of that name: a write of one is refused (`InvalidInput`), and an
    /// `Option` that is `None` when written would be read back as the id.
    ///
    /// It is one of the 252 properties that a row can have: an entity with 252 of its own is refused
    /// by every store ([`Error::TooLarge`](crate::Error::TooLarge), `TooManyProperties`). An entity with
    /// a map of all properties that no field has finds it there, as every reader of rows does; each
    /// write replaces it.
    pub fn write_id(mut self, property: impl Into<Cow<'static, str>>) -> Self {
        self.write_id = Some(property.into());
        self
    }

    /// Leaves throttling (statuses 429 and 503) to what stands above: a [scan](crate::scan) finds
    /// the table's speed by it, and would take waits down here for a slow service. Other faults,
    /// which end a scan, are tried again.
    pub const fn leave_throttling(mut self) -> Self {
        self.leaves_throttling = true;
        self
    }

    /// Makes the waits replay: for tests.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn build(self, inner: Arc<dyn Store>) -> Result<Retrying, LayerError> {
        self.strategy.check()?;
        if let Some(attempt) = self.attempt {
            error::time("the timeout of an attempt", attempt, MAX_TIMEOUT)?;
        }
        if let Some(deadline) = self.deadline {
            error::time("the deadline", deadline, MAX_TIMEOUT)?;
        }
        if let (Some(deadline), Some(attempt)) = (self.deadline, self.attempt)
            && deadline < attempt
        {
            return Err(LayerError::Deadline { deadline, attempt });
        }
        Ok(Retrying {
            inner,
            strategy: self.strategy,
            attempt: self.attempt,
            deadline: self.deadline,
            write_id: self.write_id.map(WriteIdProperty::new).transpose()?,
            leaves_throttling: self.leaves_throttling,
            random: self.seed.map_or_else(Random::from_system, Random::seeded),
        })
    }
}

impl Layer for Retry {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(self.build(store)?))
    }
}

/// The retry layer around a store.
#[derive(Debug)]
struct Retrying {
    inner: Arc<dyn Store>,
    strategy: Strategy,
    attempt: Option<Duration>,
    deadline: Option<Duration>,
    write_id: Option<WriteIdProperty>,
    leaves_throttling: bool,
    random: Random,
}

/// A call that failed for good.
struct Failure {
    error: StoreError,
    requests: u32,
    /// An earlier fault that may hide a success.
    lost: Option<StoreError>,
}

impl Failure {
    /// Whether the request may have taken effect all the same.
    fn is_ambiguous(&self) -> bool {
        if self.error.code == ErrorCode::AMBIGUOUS_WRITE {
            return false;
        }
        fault::may_hide_success(&self.error)
            || (self.lost.is_some() && !fault::condemns_request(&self.error))
    }

    /// The error of a write that nothing more is known about.
    fn ambiguous(self, write_id: Option<&str>, seen: Seen) -> StoreError {
        let operation = self.error.operation;
        let request_id = self.error.request_id.clone();
        let (lost, answer) = match self.lost {
            Some(lost) => (lost, Some(Box::new(self.error))),
            None => (self.error, None),
        };
        let ambiguity = Ambiguity {
            requests: self.requests,
            lost: Box::new(lost),
            answer,
            write_id: write_id.map(str::to_owned),
            found: seen.found,
            unseen: seen.unseen,
        };
        StoreError {
            code: ErrorCode::AMBIGUOUS_WRITE,
            operation,
            request_id,
            ..StoreError::no_answer(ambiguity.to_string()).caused_by(ambiguity)
        }
    }
}

/// What was seen of a write's rows.
#[derive(Default)]
struct Seen {
    found: Vec<(String, Option<StoredRow>)>,
    unseen: Option<Box<StoreError>>,
}

impl Retrying {
    fn deadline(&self) -> Option<Instant> {
        self.deadline.map(|deadline| Instant::now() + deadline)
    }

    /// Sends a request until it is answered, refused, or has no time or retries left.
    async fn send<T, F>(
        &self,
        deadline: Option<Instant>,
        mut request: impl FnMut() -> F + Send,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let mut requests = 0;
        let mut lost = None;
        let mut at_once = true;
        loop {
            requests += 1;
            tally::sent();
            let error = match self.attempt(deadline, request()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.is_throttling() {
                tally::throttled();
            }
            let Some(wait) = self.wait(&error, requests, &mut at_once, deadline) else {
                return Err(Failure { error, requests, lost });
            };
            if lost.is_none() && fault::may_hide_success(&error) {
                lost = Some(error);
            }
            sleep(wait).await;
        }
    }

    /// One request, within its time.
    async fn attempt<T, F>(&self, deadline: Option<Instant>, request: F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = match (left, self.attempt) {
            (Some(left), Some(attempt)) => left.min(attempt),
            (Some(limit), None) | (None, Some(limit)) => limit,
            (None, None) => return request.await,
        };
        timeout(limit, request).await.unwrap_or_else(|_| {
            let message = format!("There was no answer within {limit:?}.");
            Err(StoreError::no_answer(message))
        })
    }

    /// How long to wait before the next request, if there is to be one.
    fn wait(
        &self,
        error: &StoreError,
        retry: u32,
        at_once: &mut bool,
        deadline: Option<Instant>,
    ) -> Option<Duration> {
        if !fault::passes(error) || (self.leaves_throttling && error.is_throttling()) {
            return None;
        }
        let mut wait = self.strategy.wait(retry, self.random.unit())?;
        if error.status == 0 && std::mem::take(at_once) {
            wait = Duration::ZERO;
        }
        let wait = wait.max(error.retry_after.unwrap_or_default());
        let in_time = deadline
            .is_none_or(|deadline| wait < deadline.saturating_duration_since(Instant::now()));
        in_time.then_some(wait)
    }

    /// A request whose repetition does no harm.
    async fn read<T, F>(&self, request: impl FnMut() -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        self.send(self.deadline(), request).await.map_err(|failure| failure.error)
    }

    /// A request that changes which tables there are.
    async fn change<F>(&self, request: impl FnMut() -> F + Send) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        self.send(self.deadline(), request).await.map_err(|failure| {
            if failure.is_ambiguous() {
                failure.ambiguous(None, Seen::default())
            } else {
                failure.error
            }
        })
    }

    /// A write, as one request that `send` makes of the operations; looks at its rows when what it
    /// became is not known.
    async fn change_rows<F>(
        &self,
        table: &TableName,
        partition_key: &str,
        mut operations: Vec<Operation>,
        mut send: impl FnMut(Vec<Operation>) -> F + Send,
    ) -> Result<Vec<Option<ETag>>, StoreError>
    where
        F: Future<Output = Result<Vec<Option<ETag>>, StoreError>> + Send,
    {
        let id = self.write_id.as_ref().map(|property| (property, WriteIdProperty::new_id()));
        let id = id.as_ref().map(|(property, id)| (*property, id.as_str()));
        if let Some((property, id)) = id {
            property.stamp(id, &mut operations)?;
        }
        let sent = Sent { id, at: DateTime::now() };
        let deadline = self.deadline();
        let failure = match self.send(deadline, || send(operations.clone())).await {
            Ok(etags) => return Ok(etags),
            Err(failure) => failure,
        };
        if !failure.is_ambiguous() {
            return Err(failure.error);
        }
        let (signs, seen) = self.look(deadline, table, partition_key, &operations, &sent).await;
        if signs.contains(&Sign::Ours) {
            let mut found = seen.found.into_iter().zip(signs);
            let etags = operations.iter().map(|operation| {
                let found = found.next();
                operation.action.body()?;
                Some(match found {
                    Some(((_, Some(row)), Sign::Ours)) => {
                        row.etag().unwrap_or_else(|_| superseded())
                    }
                    // Written again since, or not to be read back.
                    _ => superseded(),
                })
            });
            return Ok(etags.collect());
        }
        if signs.contains(&Sign::Other) {
            return Err(failure.error);
        }
        let left = operations.iter().any(|operation| operation.action.body().is_some());
        Err(failure.ambiguous(id.map(|(_, id)| id).filter(|_| left), seen))
    }

    /// Reads the rows of a write back.
    async fn look(
        &self,
        deadline: Option<Instant>,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
        sent: &Sent<'_>,
    ) -> (Vec<Sign>, Seen) {
        let mut signs = Vec::with_capacity(operations.len());
        let mut seen = Seen::default();
        for operation in operations {
            let row_key = &operation.row_key;
            let row = || self.inner.get(table, partition_key, row_key, None, Metadata::None);
            match self.send(deadline, row).await {
                Ok(row) => {
                    signs.push(sent.sign(operation, row.as_ref()));
                    seen.found.push((row_key.clone(), row));
                }
                Err(failure) => {
                    seen.unseen = Some(Box::new(failure.error));
                    break;
                }
            }
        }
        (signs, seen)
    }
}

#[async_trait]
impl Store for Retrying {
    fn hidden_property(&self) -> Option<&str> {
        self.write_id.as_ref().map(WriteIdProperty::name).or_else(|| self.inner.hidden_property())
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.change(|| self.inner.create_table(table)).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.change(|| self.inner.delete_table(table)).await
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        self.read(|| self.inner.list_tables()).await
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.read(|| self.inner.get(table, partition_key, row_key, select, metadata)).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.read(|| self.inner.query(query)).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let send = |operations: Vec<Operation>| async move {
            let mut etags = Vec::with_capacity(1);
            for operation in operations {
                etags.push(self.inner.write(table, partition_key, operation).await?);
            }
            Ok(etags)
        };
        let etags = self.change_rows(table, partition_key, vec![operation], send).await?;
        Ok(etags.into_iter().next().flatten())
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let Batch { partition_key, operations } = transaction;
        let send = |operations| {
            let partition_key = partition_key.clone();
            self.inner.commit(table, Batch { partition_key, operations })
        };
        self.change_rows(table, &partition_key, operations, send).await
    }
}
