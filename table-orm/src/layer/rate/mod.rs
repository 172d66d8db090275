//! Limits how many rows a second are read and written, and slows down when throttled.
//!
//! One bucket for all requests and one for each partition pass entities at their rates, with a burst
//! of 0.1 s. Entities are counted as the service counts them: a transaction counts its operations, and
//! a query the rows it looks at. The targets are about entities of 1 KiB, so a request counts at least
//! one for each KiB of its rows' JSON. A page's count is known only afterwards, so the next request waits
//! for it. The service does not say how many rows it looked at: a page then counts the rows it returns,
//! and one that a filter left short, with a continuation, at least the 1000 of a full page.
//!
//! # From cold
//!
//! The rate of the account begins at 2,000 rows a second, which one partition server certainly takes. It
//! rises by half after every 10 s in which at least half of it was used: 3,000 after 10 s, 10,000 after 40 s,
//! 20,000 after a minute. After 10 minutes of rest it begins anew. [`RateLimit::warm`] begins at the full rate.
//!
//! The service spreads partitions over its servers by their load, within minutes (Calder et al., "Windows Azure
//! Storage", SOSP 2011, section 5.5). It asks to avoid sudden spikes (service documentation, "Scalability and
//! performance targets"). The documents name no curve: this one is our own, and was not measured on the
//! service. The rate of a partition begins at its full value, because one server holds the partition from the
//! start.
//!
//! # Throttling
//!
//! A 429 or 503 halves the rate of its partition, or of all requests if they span partitions: at most
//! once a second, and not below a 64th. Every 10 s without another one then raise it by half, up to
//! the full rate: the service moves a hot partition within minutes, not seconds, and throttles again
//! what comes back at full speed. A `Retry-After` holds the others back, too, for 30 s at most. The layer
//! must see every request, so add it below [`Retry`](super::Retry).
//!
//! # Hot partitions
//!
//! A partition that was asked for four fifths of its rate, on average over 10 s, is reported before the
//! service throttles it: as an event at level WARN in the target `table_orm` (feature `tracing`), in the
//! counter `table_orm.partitions.hot` with the label `table` (feature `metrics`), and through
//! [`RateLimit::on_hot_partition`]. Reports name a hash of its key.
//!
//! # Scans
//!
//! A [scan](crate::scan) finds its own rate, so its requests neither wait nor count here.

mod bucket;
mod hot;
mod partitions;

pub use hot::HotPartition;

use super::{Layer, LayerError, error};
use crate::model::{ACCOUNT_TARGET, MAX_PAGE_ROWS, OLDER_PARTITION_TARGET, PARTITION_TARGET};
use crate::query::RowQuery;
use crate::store::{Middleware, Page, Store, StoreAnswer, StoreError, StoreRequest};
use crate::sync::held;
use bucket::Bucket;
use hot::Reports;
use partitions::{Buckets, Share};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::{Instant, sleep};

/// The highest rate: a million rows a second.
pub const MAX_RATE: u32 = 1_000_000;

/// The rate that an account begins with: that of one partition, which one server holds.
const COLD_START: u32 = PARTITION_TARGET;
/// The bytes that count as one entity.
const UNIT: usize = 1024;

/// Settings of the rate limit; by default 20,000 rows a second in all and 2,000 in one
/// partition.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::layer::{RateLimit, Retry};
///
/// # fn run() -> table_orm::Result<()> {
/// let rate = RateLimit::default().per_account(5_000); // one of four writers
/// let tables = Tables::in_memory()?.layer(rate)?.layer(Retry::interactive())?;
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
#[derive(Debug, Clone)]
#[must_use = "settings do nothing until `Tables::layer` or `around`"]
pub struct RateLimit {
    account: u32,
    partition: u32,
    is_warm: bool,
    reports: Reports,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self {
            account: ACCOUNT_TARGET,
            partition: PARTITION_TARGET,
            is_warm: false,
            reports: Reports::default(),
        }
    }
}

impl RateLimit {
    /// Limits by the older targets: 500 rows a second in one partition.
    pub fn older() -> Self {
        Self::default().per_partition(OLDER_PARTITION_TARGET)
    }

    /// Limits the rows a second in all, 1 to [`MAX_RATE`].
    pub const fn per_account(mut self, entities: u32) -> Self {
        self.account = entities;
        self
    }

    /// Limits the rows a second in each partition, 1 to [`MAX_RATE`].
    pub const fn per_partition(mut self, entities: u32) -> Self {
        self.partition = entities;
        self
    }

    /// Begins at the full rate: for an account that is under load already, from other programs.
    pub const fn warm(mut self) -> Self {
        self.is_warm = true;
        self
    }

    /// Calls `report` when a partition has been read and written for some seconds at four fifths of its
    /// rate or more, at most once a minute for each. `report` must return soon, because a request waits
    /// for it.
    ///
    /// ```
    /// use table_orm::Tables;
    /// use table_orm::layer::RateLimit;
    ///
    /// # fn run() -> table_orm::Result<()> {
    /// let rate = RateLimit::default().on_hot_partition(|hot| {
    ///     eprintln!("{} {}: {} of {} a second", hot.table, hot.partition, hot.rate, hot.target);
    /// });
    /// let tables = Tables::in_memory()?.layer(rate)?;
    /// # Ok(())
    /// # }
    /// # run().unwrap();
    /// ```
    pub fn on_hot_partition(
        mut self,
        report: impl Fn(&HotPartition) + Send + Sync + 'static,
    ) -> Self {
        self.reports.call = Some(Arc::new(report));
        self
    }

    /// Reports hot partitions by their keys, which may be personal, instead of by hashes of them.
    pub fn show_keys(mut self) -> Self {
        self.reports.shows_keys = true;
        self
    }
}

impl Layer for RateLimit {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let most = number(MAX_RATE);
        error::number("the rate of all requests", number(self.account), most)?;
        error::number("the rate of a partition", number(self.partition), most)?;
        let now = Instant::now();
        let all = if self.is_warm {
            Bucket::new(self.account, now)
        } else {
            Bucket::cold(self.account, COLD_START, now)
        };
        let buckets = Mutex::new(Buckets::new(all, self.partition));
        Ok(Arc::new(Paced { inner: store, buckets, target: self.partition, reports: self.reports }))
    }
}

/// What a waiting request has reserved. Dropped while it waits, it returns its share.
struct Reservation<'p> {
    paced: &'p Paced,
    /// `None` once it is spent.
    share: Option<Share>,
}

impl Reservation<'_> {
    async fn wait(mut self) {
        let wait = self.share.as_ref().map(Share::wait).unwrap_or_default();
        if !wait.is_zero() {
            held(sleep(wait)).await;
        }
        self.share = None;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some(share) = &self.share {
            self.paced.buckets().give_back(share);
        }
    }
}

/// A store whose requests wait for their buckets.
#[derive(Debug)]
struct Paced {
    inner: Arc<dyn Store>,
    buckets: Mutex<Buckets>,
    target: u32,
    reports: Reports,
}

impl Paced {
    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes units from the buckets.
    fn take(&self, units: usize, request: &StoreRequest<'_>) -> Share {
        let share = self.buckets().take(units, request.partition());
        if let (Some(rate), Some((partition, _))) = (share.near, &share.of_partition) {
            self.reports.report(partition, rate, self.target);
        }
        share
    }

    /// Sends a request at its time. `read` counts the rows that an answer stands for.
    async fn paced<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
        read: impl FnOnce(&T) -> usize + Send,
    ) -> Result<T, StoreError> {
        if request.entities == 0 || request.self_paced {
            return next.await;
        }
        let taken = units(request.entities, request.bytes);
        let share = self.take(taken, &request);
        Reservation { paced: self, share: Some(share) }.wait().await;
        let answer = next.await;
        match &answer {
            Ok(answer) => {
                let more = units(read(answer), answer.bytes()).saturating_sub(taken);
                if more > 0 {
                    self.take(more, &request);
                }
            }
            Err(error) if error.is_throttling() => {
                self.buckets().cut(error.retry_after, request.partition());
            }
            Err(_) => {}
        }
        answer
    }
}

/// What a number of entities counts: one for each, and at least one for each KiB.
pub(crate) fn units(entities: usize, bytes: usize) -> usize {
    entities.max(bytes.div_ceil(UNIT))
}

/// What an answer counts: the rows that the store looked at, or those that it returns.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn units_read(answer: &impl StoreAnswer) -> usize {
    let rows = answer.rows_scanned().or_else(|| answer.rows_returned()).unwrap_or_default();
    units(rows, answer.bytes())
}

/// The rows that the service has looked at for a page, or the fewest that it can have.
fn rows_read(query: &RowQuery, page: &Page) -> usize {
    if let Some(scanned) = page.rows_scanned() {
        return scanned;
    }
    let returned = page.rows_returned().unwrap_or_default();
    let most = usize::from(query.top.unwrap_or(MAX_PAGE_ROWS));
    let is_short = page.continuation.is_some() && returned < most;
    let scanned = if query.filter.is_some() && is_short { MAX_PAGE_ROWS.into() } else { 0 };
    returned.max(scanned)
}

impl Middleware for Paced {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.paced(request, next, |answer| answer.rows_scanned().unwrap_or_default()).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let (request, page) = (StoreRequest::query(query), self.inner().query(query));
        self.paced(request, page, |page| rows_read(query, page)).await
    }
}
