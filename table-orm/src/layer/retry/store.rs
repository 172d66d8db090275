//! The store that retries.
//!
//! It has a method for every kind of request: a read is sent again as it is, a change of tables may
//! end ambiguous, and a write is sent again with its id, and its rows are read back afterwards.

use super::classify::{is_ambiguous, is_transient, proves_no_effect};
use super::evidence::{Evidence, Sent, superseded};
use super::strategy::{MAX_WAIT, Strategy};
use super::write_id::WriteIdProperty;
use crate::layer::tally;
use crate::model::{ETag, Metadata, TableName};
use crate::query::RowQuery;
use crate::store::{
    Ambiguity, Batch, ErrorCode, Middleware, Operation, Page, Store, StoreError, StoredRow,
};
use crate::sync::Random;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The retry layer around a store.
#[derive(Debug)]
pub(super) struct RetryStore {
    pub(super) inner: Arc<dyn Store>,
    pub(super) strategy: Strategy,
    pub(super) attempt: Option<Duration>,
    pub(super) deadline: Option<Duration>,
    pub(super) write_id: Option<WriteIdProperty>,
    pub(super) leaves_throttling: bool,
    pub(super) random: Random,
}

/// What bounds a call with all its requests.
#[derive(Clone, Copy)]
struct Call {
    deadline: Option<Instant>,
    /// Whether throttling ends it.
    leaves_throttling: bool,
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
}

impl RetryStore {
    fn call(&self) -> Call {
        let deadline = self.deadline.map(|deadline| Instant::now() + deadline);
        Call { deadline, leaves_throttling: self.leaves_throttling }
    }

    /// Sends a request until it succeeds, is rejected, or has no time or retries left.
    async fn send<T, F>(
        &self,
        call: Call,
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
            let error = match self.attempt(call.deadline, request()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.is_throttling() {
                tally::throttled();
            }
            let Some(wait) = self.wait(&error, requests, &mut at_once, call) else {
                return Err(Failure { error, requests, lost });
            };
            if lost.is_none() && is_ambiguous(&error) {
                lost = Some(error);
            }
            sleep(wait).await;
        }
    }

    /// Sends one request, within its time.
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
            Err(StoreError::no_answer(format!("no answer came within {limit:?}")))
        })
    }

    /// How long to wait before the next attempt; `None` if there is no next attempt.
    fn wait(
        &self,
        error: &StoreError,
        retry: u32,
        at_once: &mut bool,
        call: Call,
    ) -> Option<Duration> {
        if !is_transient(error) || (call.leaves_throttling && error.is_throttling()) {
            return None;
        }
        let mut wait = self.strategy.wait(retry, self.random.unit())?;
        if error.status == 0 && std::mem::take(at_once) {
            wait = Duration::ZERO;
        }
        let wait = wait.max(error.retry_after.unwrap_or_default().min(MAX_WAIT));
        let in_time = call
            .deadline
            .is_none_or(|deadline| wait < deadline.saturating_duration_since(Instant::now()));
        in_time.then_some(wait)
    }

    /// Sends a request that changes nothing.
    async fn read<T, F>(&self, request: impl FnMut() -> F + Send) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        self.send(self.call(), request).await.map_err(|failure| failure.error)
    }

    /// Sends a request that creates or deletes a table.
    async fn change<F>(&self, request: impl FnMut() -> F + Send) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>> + Send,
    {
        self.send(self.call(), request).await.map_err(|failure| {
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
        let id = self.write_id.as_ref().map(|property| (property, WriteIdProperty::new_id()));
        let id = id.as_ref().map(|(property, id)| (*property, id.as_str()));
        if let Some((property, id)) = id {
            property.stamp(id, &mut operations)?;
        }
        let sent = Sent { id, at: self.inner().service_time() };
        let call = self.call();
        let failure = match self.send(call, || send(operations.clone())).await {
            Ok(etags) => return Ok(etags),
            Err(failure) => failure,
        };
        if !failure.is_ambiguous() {
            return Err(failure.error);
        }
        let (evidence, seen) = self.read_back(call, table, partition_key, &operations, &sent).await;
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
        call: Call,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
        sent: &Sent<'_>,
    ) -> (Vec<Evidence>, Seen) {
        let mut evidence = Vec::with_capacity(operations.len());
        let mut seen = Seen::default();
        for operation in operations {
            let row_key = &operation.row_key;
            let row = || self.inner().get(table, partition_key, row_key, None, Metadata::None);
            match self.send(call, row).await {
                Ok(row) => {
                    evidence.push(sent.evidence(operation, row.as_ref()));
                    seen.found.push((row_key.clone(), row));
                }
                Err(failure) => {
                    seen.unseen = Some(Box::new(failure.error));
                    break;
                }
            }
        }
        (evidence, seen)
    }
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
        let page = self.send(call, || self.inner().query(query)).await;
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
