//! The rows in the cache, and how they are read and evicted.

use super::counts::{CacheCounts, Counters, Read};
use super::flights::{Answer, Flights, RowAt};
use crate::model::{Metadata, TIMESTAMP, TableName};
use crate::query::{KeyRange, Span};
use crate::store::{Batch, Store, StoreError, StoredRow};
use crate::sync::Timer;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use std::fmt;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a row counts with besides its key and its body.
const ROW_BYTES: usize = 256;
/// What most rows have, by which the cache makes room for their keys.
const USUAL_BYTES: u64 = 1024;
/// What a shard of the cache has at least, if the cache has more: several of the largest rows.
const SHARD_BYTES: u64 = 4 << 20;

/// A row as it was read.
#[derive(Debug, Clone)]
struct Kept {
    /// `None`: it did not exist.
    row: Option<StoredRow>,
    metadata: Metadata,
    /// When its request began.
    since: Duration,
    /// Whether it had changed when it was last read again: then it is read whole the next time.
    changes: bool,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<RowAt, Kept> for Bytes {
    fn weight(&self, at: &RowAt, kept: &Kept) -> u64 {
        let body = kept.row.as_ref().map_or(0, |row| row.body.len());
        (ROW_BYTES + at.partition_key.len() + at.row_key.len() + body) as u64
    }
}

/// The rows that a connection keeps.
pub(crate) struct RowCache {
    rows: Cache<RowAt, Kept, Bytes, RandomState>,
    flights: Mutex<Flights>,
    counters: Counters,
    /// Whether anything was read through it.
    is_used: AtomicBool,
    bytes: u64,
}

impl fmt::Debug for RowCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RowCache").field(&self.counts()).finish()
    }
}

impl RowCache {
    /// A cache of at most `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL_BYTES).unwrap_or(usize::MAX).clamp(16, 1 << 20);
        // A shard keeps no row larger than itself.
        let shards = usize::try_from(bytes / SHARD_BYTES).unwrap_or(usize::MAX).clamp(1, 64);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(items)
            .weight_capacity(bytes)
            .shards(shards)
            .build();
        let hasher = RandomState::default();
        let rows = match options {
            Ok(options) => Cache::with_options(options, Bytes, hasher, DefaultLifecycle::default()),
            Err(_) => Cache::with(items, bytes, Bytes, hasher, DefaultLifecycle::default()),
        };
        Self {
            rows,
            flights: Mutex::default(),
            counters: Counters::default(),
            is_used: AtomicBool::new(false),
            bytes,
        }
    }

    /// An empty cache of the same size.
    pub fn emptied(&self) -> Self {
        Self::new(self.bytes)
    }

    pub fn counts(&self) -> CacheCounts {
        self.counters.counts(self.rows.len() as u64, self.rows.weight())
    }

    /// Reads a row, or returns it as it was at most `time` ago.
    pub async fn read(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        timer: Timer,
        (table, key): (&TableName, &KeyRange),
        metadata: Metadata,
        time: Duration,
    ) -> Result<Option<StoredRow>, StoreError> {
        let (Span::Exact(partition_key), Span::Exact(row_key)) = (&key.partition, &key.row) else {
            // Callers pass only complete keys.
            return Ok(None);
        };
        let at = RowAt::new(table, partition_key, row_key);
        self.is_used.store(true, Ordering::SeqCst);
        let now = timer.now();
        if let Some(row) = self.recent(table, &at, metadata, now, time) {
            return Ok(row);
        }
        let (read, joined) = {
            let mut flights = self.flights();
            // A read may have ended since.
            if let Some(row) = self.recent(table, &at, metadata, now, time) {
                return Ok(row);
            }
            match flights.join(&at, metadata, now, time) {
                Some(read) => (read, true),
                None => {
                    let (cache, store) = (Arc::clone(self), Arc::clone(store));
                    let begin = |number| {
                        let table = table.clone();
                        let flight = Landing { cache, table, at: at.clone(), number };
                        let read = flight.read(store, now, metadata);
                        Box::pin(read) as _
                    };
                    (flights.begin(&at, metadata, now, begin), false)
                }
            }
        };
        let answer = read.await;
        if let (true, Ok(row)) = (joined, &answer) {
            self.counters.count(Read::Hit, body_bytes(row.as_ref()), table);
        }
        answer.map_err(own)
    }

    /// The row as it was less than `time` ago.
    fn recent(
        &self,
        table: &TableName,
        at: &RowAt,
        metadata: Metadata,
        now: Duration,
        time: Duration,
    ) -> Option<Option<StoredRow>> {
        let kept = self.rows.get(at)?;
        if kept.metadata != metadata || now.saturating_sub(kept.since) >= time {
            return None;
        }
        self.counters.count(Read::Hit, body_bytes(kept.row.as_ref()), table);
        Some(kept.row)
    }

    /// A write of these rows begins. They are given up when the value is dropped: after the answer, or when
    /// the write is given up.
    pub fn writes(self: &Arc<Self>, table: &TableName, batch: &Batch) -> Written {
        let at = |row_key: &String| RowAt::new(table, &batch.partition_key, row_key);
        let rows = self
            .is_used
            .load(Ordering::SeqCst)
            .then(|| batch.operations.iter().map(|operation| at(&operation.row_key)).collect());
        Written { cache: Arc::clone(self), rows }
    }

    /// A write of rows that are not known begins, such as that of a whole table.
    pub fn writes_any(self: &Arc<Self>) -> Written {
        Written { cache: Arc::clone(self), rows: None }
    }

    /// Gives up all rows.
    fn clear(&self) {
        let mut flights = self.flights();
        flights.detach_all();
        self.rows.clear();
    }

    fn give_up(&self, rows: &[RowAt]) {
        let mut flights = self.flights();
        for at in rows {
            flights.detach(at);
            self.rows.remove(at);
        }
    }

    fn flights(&self) -> MutexGuard<'_, Flights> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read under way. When it ends, or is dropped, no call joins it any more.
struct Landing {
    cache: Arc<RowCache>,
    table: TableName,
    at: RowAt,
    number: u64,
}

impl Landing {
    async fn read(self, store: Arc<dyn Store>, since: Duration, metadata: Metadata) -> Answer {
        let (table, RowAt { partition_key, row_key, .. }) = (&self.table, &self.at);
        let get = |select, metadata| store.get(table, partition_key, row_key, select, metadata);
        let before = self.cache.rows.get(&self.at).filter(|kept| kept.metadata == metadata);
        // The version alone: an unchanged row is not sent again.
        if let Some(Kept { row: Some(row), changes: false, .. }) = &before {
            let version = get(Some(&[TIMESTAMP]), Metadata::None).await.map_err(Arc::new)?;
            let is_same = match version {
                None => return Ok(self.keep(None, metadata, since, false, Read::Miss)),
                Some(version) => {
                    matches!((version.etag(), row.etag()), (Ok(new), Ok(old)) if new == old)
                }
            };
            if is_same {
                let row = Some(row.clone());
                return Ok(self.keep(row, metadata, since, false, Read::Unchanged));
            }
        }
        let row = get(None, metadata).await.map_err(Arc::new)?;
        let etag = |row: &Option<StoredRow>| row.as_ref().and_then(|row| row.etag().ok());
        let changes = before.is_some_and(|before| etag(&before.row) != etag(&row));
        Ok(self.keep(row, metadata, since, changes, Read::Miss))
    }

    fn keep(
        &self,
        row: Option<StoredRow>,
        metadata: Metadata,
        since: Duration,
        changes: bool,
        read: Read,
    ) -> Option<StoredRow> {
        let saved = if matches!(read, Read::Unchanged) { body_bytes(row.as_ref()) } else { 0 };
        self.cache.counters.count(read, saved, &self.table);
        let mut flights = self.cache.flights();
        if flights.land(&self.at, self.number) {
            let kept = Kept { row: row.clone(), metadata, since, changes };
            self.cache.rows.insert(self.at.clone(), kept);
        }
        row
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        self.cache.flights().land(&self.at, self.number);
    }
}

/// Rows that are being written.
#[must_use = "the rows are given up when this is dropped"]
pub(crate) struct Written {
    cache: Arc<RowCache>,
    /// `None`: any. Then nothing was ever read through the cache when the write began, or a table is deleted.
    rows: Option<Vec<RowAt>>,
}

impl Drop for Written {
    fn drop(&mut self) {
        match &self.rows {
            Some(rows) => self.cache.give_up(rows),
            None if self.cache.is_used.load(Ordering::SeqCst) => self.cache.clear(),
            None => {}
        }
    }
}

fn body_bytes(row: Option<&StoredRow>) -> usize {
    row.map_or(0, |row| row.body.len())
}

/// The error of a read that several calls shared.
fn own(error: Arc<StoreError>) -> StoreError {
    Arc::try_unwrap(error).unwrap_or_else(|error| StoreError {
        code: error.code.clone(),
        status: error.status,
        message: error.message.clone(),
        operation: error.operation,
        request_id: error.request_id.clone(),
        retry_after: error.retry_after,
        source: Some(Box::new(error)),
    })
}
