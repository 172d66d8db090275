//! Blobs with the bytes of large values.
//!
//! Invariant: a blob exists only while a row of its value names it. That row is written before the blob is created,
//! and deleted after the blob. With a table, its rows are gone at once: a blob that was listed before the table was
//! dropped, or found missing, has no row.

use super::Connection;
use super::table_client::TableClient;
use super::within::writing_unless;
use crate::blobs::{BlobError, BlobErrorKind, Blobs};
use crate::error::LargeValueError;
use crate::model::TableName;
use crate::sync::{Backoff, Concurrent};
use bytes::Bytes;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// The most attempts of a request that the service does not answer.
const ATTEMPTS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long an attempt waits for its answer: 4 MiB at 0.6 Mbit/s.
const LONGEST_ATTEMPT: Duration = Duration::from_secs(60);
/// No attempt begins later than this.
const LAST_ATTEMPT: Duration = Duration::from_secs(180);

/// The blob of a value.
#[derive(Debug)]
pub(crate) struct ValueBlob<'c> {
    connection: &'c Connection,
    blobs: &'c dyn Blobs,
    name: String,
}

/// How many blobs are deleted at once.
const DELETES_AT_ONCE: usize = 16;

/// What the names of the blobs of a table begin with. The case of its name does not matter.
pub(crate) fn blobs_of(table: &TableName) -> String {
    table.as_str().to_ascii_lowercase() + "."
}

impl TableClient {
    /// Whether the values that it uploads are in blobs.
    pub fn has_blobs(&self) -> bool {
        self.connection.blobs.is_some()
    }

    /// The blob of the value with that id.
    pub fn blob(&self, id: &str) -> Result<ValueBlob<'_>, LargeValueError> {
        let Some(blobs) = &self.connection.blobs else {
            return Err(LargeValueError::NoBlobs { id: id.to_owned() });
        };
        // A copy of the table under another name has no blobs.
        let name = blobs_of(&self.table) + id;
        Ok(ValueBlob { connection: &self.connection, blobs: &**blobs, name })
    }
}

impl Connection {
    /// The names of the blobs whose names begin so and that `is_one` takes: one request for each page of them.
    pub async fn blob_names(
        &self,
        prefix: String,
        is_one: impl Fn(&str) -> bool + Send,
    ) -> Result<Vec<String>, LargeValueError> {
        let blobs = self.blobs.as_deref().ok_or(LargeValueError::NoContainer)?;
        let pages = ValueBlob { connection: self, blobs, name: prefix };
        let (mut names, mut after) = (Vec::new(), None);
        loop {
            let page = pages.retried(|| blobs.list(&pages.name, after.as_deref())).await?;
            names.extend(page.names.into_iter().filter(|name| is_one(name)));
            after = page.next;
            if after.is_none() {
                return Ok(names);
            }
        }
    }

    /// Deletes blobs that no row names: one request for each.
    pub async fn delete_blobs(&self, names: Vec<String>) -> Result<(), LargeValueError> {
        let blobs = self.blobs.as_deref().ok_or(LargeValueError::NoContainer)?;
        // In parts, because a future is larger than a name.
        for names in names.chunks(1_000) {
            let deletes = names.iter().cloned().map(|name| async move {
                ValueBlob { connection: self, blobs, name }.delete().await
            });
            Concurrent::unordered(deletes, DELETES_AT_ONCE).try_all().await?;
        }
        Ok(())
    }
}

impl ValueBlob<'_> {
    /// Creates it, without bytes. Returns its version.
    pub async fn create(&self) -> Result<String, LargeValueError> {
        self.retried(|| writing_blob(self.blobs.create(&self.name))).await
    }

    /// Sends a part, which is read only after the commit.
    pub async fn stage(&self, part: u32, bytes: Bytes) -> Result<(), LargeValueError> {
        let stage = || writing_blob(self.blobs.stage(&self.name, part, bytes.clone()));
        self.retried(stage).await
    }

    /// Makes the parts its bytes, of which there are `length`.
    pub async fn commit(
        &self,
        version: &str,
        parts: u32,
        length: u64,
    ) -> Result<(), LargeValueError> {
        let commit = || writing_blob(self.blobs.commit(&self.name, version, parts));
        match self.retried(commit).await {
            // An attempt whose answer was lost has committed it.
            Err(LargeValueError::Blob(error)) if error.kind == BlobErrorKind::Changed => {
                let last = self.read(length.saturating_sub(1), 1).await?;
                let is_there = last.is_some_and(|last| !last.is_empty());
                if is_there { Ok(()) } else { Err(error.into()) }
            }
            committed => committed,
        }
    }

    /// Reads bytes from that offset on; `None` where there is no blob.
    pub async fn read(&self, from: u64, most: usize) -> Result<Option<Bytes>, LargeValueError> {
        self.retried(|| self.blobs.read(&self.name, from, most)).await
    }

    /// Deletes it, if it is there.
    pub async fn delete(&self) -> Result<(), LargeValueError> {
        self.retried(|| writing_blob(self.blobs.delete(&self.name))).await
    }

    /// Sends a request until it is answered.
    async fn retried<T, F>(
        &self,
        request: impl Fn() -> F + Send + Sync,
    ) -> Result<T, LargeValueError>
    where
        T: Send,
        F: Future<Output = Result<T, BlobError>> + Send,
    {
        let connection = self.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let last_attempt = connection.now() + LAST_ATTEMPT;
        loop {
            match self.in_time(request()).await {
                Err(error)
                    if error.kind == BlobErrorKind::Unavailable
                        && backoff.waits() + 1 < ATTEMPTS
                        && connection.now() < last_attempt =>
                {
                    connection.timer.sleep(backoff.next(&connection.random)).await;
                }
                answer => return answer.map_err(LargeValueError::from),
            }
        }
    }

    /// An answer that does not come is none.
    async fn in_time<T>(
        &self,
        request: impl Future<Output = Result<T, BlobError>>,
    ) -> Result<T, BlobError> {
        let end = pin!(self.connection.timer.sleep(LONGEST_ATTEMPT));
        match select(pin!(request), end).await {
            Either::Left((answer, _)) => answer,
            Either::Right(_) => {
                let message = format!("no answer within {} s", LONGEST_ATTEMPT.as_secs());
                Err(BlobError::new(BlobErrorKind::Unavailable, &self.name, message))
            }
        }
    }
}

/// Sends a request that changes a blob, as a part of the call that makes it.
async fn writing_blob<T>(
    request: impl Future<Output = Result<T, BlobError>>,
) -> Result<T, BlobError> {
    writing_unless(request, |error| error.kind == BlobErrorKind::Unavailable).await
}
