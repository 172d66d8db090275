//! Blobs with the bytes of large values.
//!
//! Invariant: a blob exists only while a row of its value names it. That row is written before the blob is created,
//! and deleted after the blob.

use super::table_client::TableClient;
use super::within::writing_unless;
use crate::blobs::{BlobError, BlobErrorKind, Blobs};
use crate::error::LargeValueError;
use crate::sync::Backoff;
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
    client: &'c TableClient,
    blobs: &'c dyn Blobs,
    name: String,
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
        // The case of a table's name does not matter. A copy of the table under another name has no blobs.
        let name = format!("{}.{id}", self.table.as_str().to_ascii_lowercase());
        Ok(ValueBlob { client: self, blobs: &**blobs, name })
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
        let connection = &self.client.connection;
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
        let end = pin!(self.client.connection.timer.sleep(LONGEST_ATTEMPT));
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
