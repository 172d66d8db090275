//! The store that retries.
//!
//! It has a method for every kind of request: a read is sent again as it is, a change of tables may
//! end ambiguous, and a write is sent again with its id, and its rows are read back afterwards.

use super::budget::{Budget, Cost};
use super::classify::{is_ambiguous, is_transient, proves_no_effect};
use super::lost_answer::{Evidence, Sent, is_stored, superseded};
use super::policy::RetryPolicy;
use super::strategy::{MAX_RETRIES, MAX_WAIT};
use super::write_id::WriteIdProperty;
use crate::model::{ETag, Metadata, PARCEL_START, TableName};
use crate::property::chunk_of;
use crate::query::RowQuery;
use crate::store::{
    Action, Ambiguity, Batch, ErrorCode, Middleware, Operation, Page, Store, StoreError, StoredRow,
    tally,
};
use crate::sync::{Flight, Random};
use futures_util::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// What is added to the error of a call that had retries left.
const NO_BUDGET: &str =
    " (not retried: too many requests of this connection have failed, `Retry::budget`)";

/// The retry layer around a store.
#[derive(Debug)]
pub(super) struct RetryStore {
    pub(super) inner: Arc<dyn Store>,
    pub(super) policy: Arc<dyn RetryPolicy>,
    pub(super) attempt: Option<Duration>,
    pub(super) deadline: Option<Duration>,
    pub(super) write_id: Option<WriteIdProperty>,
    pub(super) leaves_throttling: bool,
    pub(super) budget: Option<Budget>,
    pub(super) random: Random,
}

/// What bounds a call with all its requests.
#[derive(Clone)]
struct Call {
    start: Instant,
    deadline: Option<Duration>,
    /// Whether throttling ends it.
    leaves_throttling: bool,
    /// Whether it ends where it may have taken effect.
    sends_once: bool,
    flight: Flight,
    /// How long its requests were held back before it.
    held_before: Duration,
}

impl Call {
    /// The time until its deadline. A request that is held back does not use it up.
    fn left(&self) -> Option<Duration> {
        let held = self.flight.held_for().saturating_sub(self.held_before);
        self.deadline.map(|deadline| (deadline + held).saturating_sub(self.start.elapsed()))
    }
}

/// A call that failed and is not retried any more.
struct Failure {
    error: StoreError,
    requests: u32,
    /// The first fault after which the request may have taken effect.
    lost: Option<StoreError>,
}

impl Failure {
    /// Whether the request may have taken effect.
    fn is_ambiguous(&self) -> bool {
        if self.error.code == ErrorCode::AMBIGUOUS_WRITE {
            return false;
        }
        is_ambiguous(&self.error) || (self.lost.is_some() && !proves_no_effect(&self.error))
    }

    /// The error of a request that may have taken effect.
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
            identical: seen.identical,
        };
        StoreError {
            code: ErrorCode::AMBIGUOUS_WRITE,
            operation,
            request_id,
            ..StoreError::no_answer(ambiguity.to_string()).caused_by(ambiguity)
        }
    }
}

/// The rows of a write, read back.
#[derive(Default)]
struct Seen {
    found: Vec<(String, Option<StoredRow>)>,
    unseen: Option<Box<StoreError>>,
    /// Whether they are all there as they were sent.
    identical: bool,
}

impl RetryStore {
    fn call(&self) -> Call {
        let flight = Flight::current();
        Call {
            start: Instant::now(),
            deadline: self.deadline,
            leaves_throttling: self.leaves_throttling,
            sends_once: false,
            held_before: flight.held_for(),
            flight,
        }
    }

    /// Sends a request until it succeeds, is rejected, or has no time or retries left.
    async fn send<T, F>(
        &self,
        call: &Call,
        mut request: impl FnMut() -> F + Send,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let mut requests = 0;
        let mut lost = None;
        let mut at_once = true;
        let mut paid = Cost::default();
        loop {
            requests += 1;
            tally::sent();
            call.flight.departs();
            let mut error = match self.attempt(call, request()).await {
                Ok(answer) => {
                    // A layer above may still be at work when its call is dropped.
                    call.flight.returns(true);
                    if let Some(budget) = &self.budget {
                        budget.succeeded(paid);
                    }
                    return Ok(answer);
                }
                Err(error) => error,
            };
            call.flight.returns(is_ambiguous(&error));
            if error.is_throttling() {
                tally::throttled();
            }
            // A rejection shows as well as a success that the service works.
            if error.status != 0
                && !is_transient(&error)
                && let Some(budget) = &self.budget
            {
                budget.succeeded(paid);
            }
            // A request that may have taken effect is not sent again under the same names.
            if call.sends_once && is_ambiguous(&error) {
                return Err(Failure { error, requests, lost });
            }
            let Some(wait) = self.wait(&error, requests, &mut at_once, call) else {
                return Err(Failure { error, requests, lost });
            };
            if let Some(budget) = &self.budget {
                let Some(cost) = budget.pay(&error) else {
                    error.message.push_str(NO_BUDGET);
                    return Err(Failure { error, requests, lost });
                };
                paid = cost;
            }
            if lost.is_none() && is_ambiguous(&error) {
                lost = Some(error);
            }
            sleep(wait).await;
        }
    }

    /// Sends one request, within its time: that which passes while no layer below holds it back.
    async fn attempt<T, F>(&self, call: &Call, request: F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let flight = &call.flight;
        let request = flight.run(request);
        let limit = match (call.left(), self.attempt) {
            (Some(left), Some(attempt)) => left.min(attempt),
            (Some(limit), None) | (None, Some(limit)) => limit,
            (None, None) => return request.await,
        };
        let (start, held_before) = (Instant::now(), flight.held_for());
        let mut request = pin!(request);
        loop {
            let held = flight.held_for() - held_before;
            let end = pin!(sleep((limit + held).saturating_sub(start.elapsed())));
            if let Either::Left((answer, _)) = select(request.as_mut(), end).await {
                return answer;
            }
            if flight.held_for() - held_before == held {
                let message = format!("no answer came within {limit:?}");
                return Err(StoreError::no_answer(message));
            }
        }
    }

    /// How long to wait before the next attempt; `None` if there is no next attempt.
    fn wait(
        &self,
        error: &StoreError,
        retry: u32,
        at_once: &mut bool,
        call: &Call,
    ) -> Option<Duration> {
        if retry > MAX_RETRIES || (call.leaves_throttling && error.is_throttling()) {
            return None;
        }
        let mut wait = self.policy.wait(error, retry, self.random.unit())?.min(MAX_WAIT);
        if error.status == 0 && std::mem::take(at_once) {
            wait = Duration::ZERO;
        }
        let wait = wait.max(error.retry_after.unwrap_or_default().min(MAX_WAIT));
        call.left().is_none_or(|left| wait < left).then_some(wait)
    }

    /// Sends a request that changes nothing.
    async fn read<T, F>(&self, request: impl FnMut() -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        self.send(&self.call(), request).await.map_err(|failure| failure.error)
    }

    /// Sends a request that creates or deletes a table.
    async fn change<F>(&self, request: impl FnMut() -> F + Send) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        self.send(&self.call(), request).await.map_err(|failure| {
            if failure.is_ambiguous() {
                failure.ambiguous(None, Seen::default())
            } else {
                failure.error
            }
        })
    }

    /// Sends a write, as the request that `send` makes of the operations. Reads its rows back when it
    /// may have taken effect.
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
        let sends_once = operations.iter().any(is_sent_once);
        // What is sent once needs no id to be known again, and those who read such rows know none.
        let id = self.write_id.as_ref().filter(|_| !sends_once);
        let id = id.map(|property| (property, WriteIdProperty::new_id()));
        let id = id.as_ref().map(|(property, id)| (*property, id.as_str()));
        if let Some((property, id)) = id {
            property.stamp(id, &mut operations)?;
        }
        let sent = Sent { id, at: self.inner().service_time() };
        let call = Call { sends_once, ..self.call() };
        let failure = match self.send(&call, || send(operations.clone())).await {
            Ok(etags) => return Ok(etags),
            Err(failure) => failure,
        };
        if !failure.is_ambiguous() {
            return Err(failure.error);
        }
        // With time of its own: a write whose answers were lost has used up its call's.
        let (evidence, seen) =
            self.read_back(&self.call(), table, partition_key, &operations, &sent).await;
        if evidence.contains(&Evidence::Mine) {
            let mut found = seen.found.into_iter().zip(evidence);
            let etags = operations.iter().map(|operation| {
                let found = found.next();
                operation.action.body()?;
                Some(match found {
                    Some(((_, Some(row)), Evidence::Mine)) => {
                        row.etag().unwrap_or_else(|_| superseded())
                    }
                    // Another write replaced it, or it could not be read back.
                    _ => superseded(),
                })
            });
            return Ok(etags.collect());
        }
        if evidence.contains(&Evidence::Other) {
            return Err(failure.error);
        }
        let left = operations.iter().any(|operation| operation.action.body().is_some());
        Err(failure.ambiguous(id.map(|(_, id)| id).filter(|_| left), seen))
    }

    /// Reads the rows of a write back.
    async fn read_back(
        &self,
        call: &Call,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
        sent: &Sent<'_>,
    ) -> (Vec<Evidence>, Seen) {
        let mut evidence = Vec::with_capacity(operations.len());
        let mut seen = Seen { identical: true, ..Seen::default() };
        for operation in operations {
            let row_key = &operation.row_key;
            let row = || self.inner().get(table, partition_key, row_key, None, Metadata::Minimal);
            match self.send(call, row).await {
                Ok(row) => {
                    evidence.push(sent.evidence(operation, row.as_ref()));
                    seen.identical &= is_stored(&operation.action, row.as_ref());
                    seen.found.push((row_key.clone(), row));
                }
                Err(failure) => {
                    seen.unseen = Some(Box::new(failure.error));
                    seen.identical = false;
                    break;
                }
            }
        }
        (evidence, seen)
    }
}

/// Whether it inserts the parcel of an entity that gets another key, or the first row of a large value. Once it may have
/// arrived, its name is not sent again, because a late insert would bring back what was deleted since.
fn is_sent_once(Operation { row_key, action }: &Operation) -> bool {
    let is_first_of_value = || matches!(chunk_of(row_key), Some((_, 0)));
    matches!(action, Action::Insert(_))
        && (row_key.starts_with(PARCEL_START) || is_first_of_value())
}

impl Middleware for RetryStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn hidden_property(&self) -> Option<&str> {
        self.write_id.as_ref().map(WriteIdProperty::name).or_else(|| self.inner().hidden_property())
    }

    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        let inner =
            |operations: &[Operation]| self.inner().commit_bytes(table, partition_key, operations);
        let Some(property) = &self.write_id else { return inner(operations) };
        let mut stamped = operations.to_vec();
        match property.stamp(&WriteIdProperty::new_id(), &mut stamped) {
            Ok(()) => inner(&stamped),
            // The write will fail with the same error.
            Err(_) => inner(operations),
        }
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.change(|| self.inner().create_table(table)).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.change(|| self.inner().delete_table(table)).await
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        self.read(|| self.inner().list_tables()).await
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.read(|| self.inner().get(table, partition_key, row_key, select, metadata)).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let leaves_throttling = self.leaves_throttling || query.self_paced;
        let call = Call { leaves_throttling, ..self.call() };
        let page = self.send(&call, || self.inner().query(query)).await;
        page.map_err(|failure| failure.error)
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
                etags.push(self.inner().write(table, partition_key, operation).await?);
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
            self.inner().commit(table, Batch { partition_key, operations })
        };
        self.change_rows(table, &partition_key, operations, send).await
    }
}
