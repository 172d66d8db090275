//! Reads from the copy of a store in another region.
//!
//! Invariants: only a read whose mark says that an older answer will do goes to the copy, so no write and
//! nothing that decides a write does. A query stays with the copy that gave it its continuation.

use super::LayerError;
use super::retry::is_transient;
use crate::model::{Continuation, Metadata, TableName};
use crate::query::{ReadMark, RowQuery};
use crate::store::{ErrorCode, Middleware, Page, Secondary, Store, StoreError, StoredRow, tally};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long a read waits for the primary location before it asks the secondary one.
pub const PRIMARY_TIME: Duration = Duration::from_secs(10);

/// How long reads go straight to the secondary location after the primary one did not answer a read in time.
pub const OUTAGE_TIME: Duration = Duration::from_secs(30);

/// A read begins an outage if the primary location fails it after that time or later.
const PATIENCE: Duration = Duration::from_secs(1);

/// What the continuations of the secondary location begin with, above this store. Those of the service
/// begin with a digit.
const OF_SECONDARY: &str = "secondary/";

/// Which location of an account answers reads, where the account has a readable copy in another region
/// (RA-GRS, RA-GZRS). Writes always go to the primary location.
///
/// Only the calls that return entities without their versions read from the secondary location: `get`,
/// `get_many`, `list`, `list_many`, unions, scans and exports. Their answers may then be minutes old:
/// [`Tables::replication`](crate::Tables::replication) says how old. All other reads decide a write, so they
/// go to the primary location: `load`, `.loaded()`, `.checked()`, `get` and `list` of
/// [untyped tables](crate::repo::Table), and those in writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadFrom {
    /// The primary location alone.
    #[default]
    PrimaryOnly,
    /// The primary location; when it fails, or does not answer within [`PRIMARY_TIME`], the secondary one. After
    /// the primary location failed a read after a second or longer, reads ask the secondary location first for
    /// [`OUTAGE_TIME`]. Then one of them asks the primary one again. A query goes on where it began: one that has
    /// read a page fails with its location.
    PrimaryThenSecondary,
    /// The secondary location alone.
    SecondaryOnly,
}

impl ReadFrom {
    /// Returns the store that reads from there.
    pub(crate) fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        if self == Self::PrimaryOnly {
            return Ok(store);
        }
        let secondary = store.secondary().ok_or(LayerError::NoSecondary)?;
        let falls_back = self == Self::PrimaryThenSecondary;
        let outage = Outage::default();
        Ok(Arc::new(Located { primary: store, secondary, falls_back, outage }))
    }
}

#[derive(Debug)]
struct Located {
    primary: Arc<dyn Store>,
    secondary: Arc<dyn Secondary>,
    /// Whether the primary location is asked first.
    falls_back: bool,
    outage: Outage,
}

/// Until when reads go straight to the secondary location.
#[derive(Debug, Default)]
struct Outage(Mutex<Option<Instant>>);

impl Outage {
    /// Whether a read goes straight to the secondary location. After the time, one read asks the primary one,
    /// and the others go on for as long again.
    fn goes_on(&self) -> bool {
        let mut until = self.until();
        match *until {
            Some(end) if Instant::now() < end => true,
            Some(_) => {
                *until = Some(Instant::now() + OUTAGE_TIME);
                false
            }
            None => false,
        }
    }

    fn begins(&self) {
        *self.until() = Some(Instant::now() + OUTAGE_TIME);
    }

    fn ends(&self) {
        *self.until() = None;
    }

    fn until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of the primary location, which names that of the secondary one.
fn both_failed(error: StoreError, of_secondary: &StoreError) -> StoreError {
    let message = error.message.trim_end_matches('.');
    let message = format!("{message}; the secondary location failed too: {of_secondary}");
    StoreError { message, ..error }
}

impl Located {
    /// The answer of the primary location, or when it fails, that of the secondary one.
    async fn either<T>(
        &self,
        self_paced: bool,
        primary: impl Future<Output = Result<T, StoreError>>,
        secondary: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if !self.falls_back {
            tally::from_secondary();
            return secondary.await;
        }
        let secondary = async {
            let answer = secondary.await;
            if answer.is_ok() {
                tally::from_secondary();
            }
            answer
        };
        if self.outage.goes_on() {
            return match secondary.await {
                Ok(answer) => Ok(answer),
                Err(of_secondary) => {
                    let answer = self.of_primary(self_paced, primary).await;
                    answer.unwrap_or_else(|error| Err(both_failed(error, &of_secondary)))
                }
            };
        }
        match self.of_primary(self_paced, primary).await {
            Ok(answer) => answer,
            Err(error) => secondary.await.map_err(|of_secondary| both_failed(error, &of_secondary)),
        }
    }

    /// The answer of the primary location. `Err` if another location may have a better one.
    async fn of_primary<T>(
        &self,
        self_paced: bool,
        primary: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let began = Instant::now();
        let error = match timeout(PRIMARY_TIME, primary).await {
            // A caller that paces itself slows down by it.
            Ok(Err(error)) if self_paced && error.is_throttling() => return Ok(Err(error)),
            Ok(Err(error)) if is_transient(&error) => error,
            Ok(answer) => {
                self.outage.ends();
                return Ok(answer);
            }
            Err(_) => StoreError::no_answer(format!("no answer within {PRIMARY_TIME:?}")),
        };
        if began.elapsed() >= PATIENCE {
            self.outage.begins();
        }
        Err(error)
    }

    async fn page_of_secondary(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let mut page = self.secondary.query(query).await?;
        page.continuation = page.continuation.map(tagged);
        Ok(page)
    }
}

/// The continuation above this store.
fn tagged(continuation: Continuation) -> Continuation {
    let partition = continuation.next_partition_key.unwrap_or_default();
    let next_partition_key = Some(format!("{OF_SECONDARY}{partition}"));
    Continuation { next_partition_key, ..continuation }
}

/// The continuation of the secondary location, if it is one.
fn untagged(continuation: &Continuation) -> Option<Continuation> {
    let partition = continuation.next_partition_key.as_deref()?.strip_prefix(OF_SECONDARY)?;
    let next_partition_key = (!partition.is_empty()).then(|| partition.to_owned());
    Some(Continuation { next_partition_key, next_row_key: continuation.next_row_key.clone() })
}

/// The error of a query that decides a write, with a continuation of the secondary location.
fn too_old() -> StoreError {
    let message = "The continuation is of the secondary location, whose answers may be older than this query \
                   takes; start the query again without it.";
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}

impl Middleware for Located {
    fn inner(&self) -> &dyn Store {
        &*self.primary
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let primary = self.primary.get(table, partition_key, row_key, select, metadata);
        if !ReadMark::of_this_get().may_be_old {
            return primary.await;
        }
        let secondary = self.secondary.get(table, partition_key, row_key, select, metadata);
        self.either(false, primary, secondary).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        match &query.continuation {
            None if query.mark.may_be_old => {
                let primary = self.primary.query(query);
                self.either(query.self_paced, primary, self.page_of_secondary(query)).await
            }
            None => self.primary.query(query).await,
            Some(continuation) => match untagged(continuation) {
                None => self.primary.query(query).await,
                Some(_) if !query.mark.may_be_old => Err(too_old()),
                Some(continuation) => {
                    tally::from_secondary();
                    let continuation = Some(continuation);
                    self.page_of_secondary(&RowQuery { continuation, ..query.clone() }).await
                }
            },
        }
    }
}
