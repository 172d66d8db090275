//! Which faults happen, and how often.

use super::script::{self, Fault, Script};
use crate::layer::{LayerError, error};
use std::time::Duration;

/// The longest time that any setting accepts: 1 day.
pub(super) const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// Settings of a store that fails on purpose: the probability of each fault for each request, 0 to 1,
/// and the faults of [single requests](Self::on).
///
/// ```
/// use table_orm::layer::{Faults, Retry};
/// use table_orm::embedded::EmbeddedStore;
/// use table_orm::{TableName, Tables};
///
/// #[tokio::main(flavor = "current_thread")]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let flaky = Faults::seeded(7).throttled(0.5).store(EmbeddedStore::in_memory()?)?;
///     let tables = Tables::new(flaky.clone()).layer(Retry::interactive())?;
///     # tokio::time::pause();
///     tables.create(&TableName::new("readings")?).await?; // perhaps throttled, then retried
///     assert!(flaky.injected() <= 5);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "settings do nothing until `Tables::layer` or `store`"]
pub struct Faults {
    pub(super) seed: u64,
    pub(super) throttled: f64,
    pub(super) errors_before: f64,
    pub(super) errors_after: f64,
    pub(super) lost_requests: f64,
    pub(super) lost_replies: f64,
    pub(super) late: f64,
    pub(super) slow: f64,
    pub(super) slowest: Duration,
    pub(super) latest: Option<Duration>,
    pub(super) empty_pages: f64,
    pub(super) short_pages: f64,
    pub(super) cut_pages: f64,
    pub(super) offline: f64,
    pub(super) offline_time: Duration,
    pub(super) deletion_time: Duration,
    pub(super) script: Script,
}

macro_rules! probabilities {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        pub const fn $name(mut self, probability: f64) -> Self {
            self.$name = probability;
            self
        }
    )*};
}

impl Faults {
    /// No faults yet.
    pub const fn seeded(seed: u64) -> Self {
        Self {
            seed,
            throttled: 0.0,
            errors_before: 0.0,
            errors_after: 0.0,
            lost_requests: 0.0,
            lost_replies: 0.0,
            late: 0.0,
            slow: 0.0,
            slowest: Duration::from_secs(2),
            latest: None,
            empty_pages: 0.0,
            short_pages: 0.0,
            cut_pages: 0.0,
            offline: 0.0,
            offline_time: Duration::from_secs(10),
            deletion_time: Duration::from_secs(40),
            script: Script::new(),
        }
    }

    /// A mix of all faults except [`late`](Self::late) and [`cut_pages`](Self::cut_pages): a third of all requests fail, replies are
    /// slow, pages are short or empty, and partitions go offline for 10 s.
    pub const fn mixed(seed: u64) -> Self {
        Self::seeded(seed)
            .throttled(0.1)
            .errors_before(0.05)
            .errors_after(0.05)
            .lost_requests(0.05)
            .lost_replies(0.1)
            .slow(0.2)
            .empty_pages(0.2)
            .short_pages(0.5)
            .offline(0.005)
    }

    probabilities! {
        /// Fails with 503 `ServerBusy`, half of the time with a `Retry-After` of 1 to 3 s. The
        /// request has no effect.
        throttled,
        /// Fails with 500. The request has no effect.
        errors_before,
        /// Fails with 500 although the request took effect.
        errors_after,
        /// Loses the request: no answer comes, and it has no effect.
        lost_requests,
        /// Loses the reply: no answer comes, and the request took effect.
        lost_replies,
        /// Delays a write: no answer comes, and the write takes effect later, within the time of
        /// [`latest`](Self::latest), as when the network still carries the request. No client can
        /// make unguarded writes safe against it.
        late,
        /// Delays a request or its reply, independent of the other faults.
        slow,
        /// Returns a page without rows, with a continuation.
        empty_pages,
        /// Cuts a page short, with a continuation.
        short_pages,
        /// Answers a page after 5 s, with some of its rows and a continuation, as the service does with
        /// a query that takes longer (service documentation, "Query timeout and pagination").
        cut_pages,
        /// Takes the request's partition offline.
        offline,
    }

    /// The longest delay of a request or its reply; 2 s by default.
    pub const fn slowest(mut self, time: Duration) -> Self {
        self.slowest = time;
        self
    }

    /// The longest time until a [`late`](Self::late) write takes effect; that of [`slowest`](Self::slowest)
    /// by default. With a longer one, a write takes effect many requests after its client went on, or after
    /// the client ended.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use table_orm::embedded::EmbeddedStore;
    /// use table_orm::layer::{Fault, Faults};
    /// # use table_orm::{DynamicEntity, Error, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(EmbeddedStore::in_memory()?);
    /// # tokio::time::pause();
    /// let minute = Duration::from_secs(60);
    /// let faults = Faults::seeded(1).on("insert", 1, Fault::Late).latest(minute);
    /// let tables = Tables::new(faults.store(store)?);
    /// # let name = TableName::new("notes")?;
    /// # tables.create(&name).await?;
    /// let notes = tables.table(name);
    /// let note = DynamicEntity::new("ann", "1");
    /// assert!(matches!(notes.insert(&note).await, Err(Error::Unavailable(_))));
    /// assert_eq!(notes.get("ann", "1").await?, None);
    /// tokio::time::sleep(minute).await;
    /// assert!(notes.get("ann", "1").await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub const fn latest(mut self, time: Duration) -> Self {
        self.latest = Some(time);
        self
    }

    /// Sets how long a partition stays offline; 10 s by default. Its requests fail with 503 or 500.
    pub const fn offline_time(mut self, time: Duration) -> Self {
        self.offline_time = time;
        self
    }

    /// Sets how long a deleted table answers 409 `TableBeingDeleted`; 40 s by default, the shortest time
    /// that the service takes (service documentation, "Delete Table").
    pub const fn deletion_time(mut self, time: Duration) -> Self {
        self.deletion_time = time;
        self
    }

    /// Gives one request this fault, whatever the probabilities are: the request of that operation with
    /// that number, counted from 1 while faults are [enabled](super::FaultStore::enable).
    ///
    /// `operation` is a [`StoreRequest::operation`](crate::store::StoreRequest::operation): `commit` is a
    /// transaction, `insert`, `replace`, `merge`, `delete`, `insert-or-replace` or `insert-or-merge` a
    /// write of one row, `get` a point query, `query` a page of any other.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use table_orm::embedded::EmbeddedStore;
    /// use table_orm::layer::{Fault, Faults};
    /// use table_orm::store::ErrorCode;
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = Arc::new(EmbeddedStore::in_memory()?);
    /// let conflict = Fault::Rejected(ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    /// let faults = Faults::seeded(1).on("commit", 2, conflict);
    /// let runners = Tables::new(faults.store(store)?).repo::<Runner>();
    /// runners.create_table().await?;
    /// runners.insert(&Runner { race: "Boston".into(), bib: 7, age: 55 }).await?; // the first commit
    ///
    /// let mut runner = runners.load(Runner::partition("Boston").by_bib().bib(7)).await?.one()?;
    /// runner.age = 56;
    /// assert!(matches!(runners.save(&mut runner).await, Err(Error::Conflict(_))));
    /// runners.save(&mut runner).await?; // the third commit
    /// # Ok(())
    /// # }
    /// ```
    pub fn on(mut self, operation: &'static str, number: u64, fault: Fault) -> Self {
        self.script.push((operation, number, fault));
        self
    }

    pub(super) fn check(&self) -> Result<(), LayerError> {
        script::check(&self.script)?;
        error::probability("slow", self.slow)?;
        error::probability("empty_pages", self.empty_pages)?;
        error::probability("short_pages", self.short_pages)?;
        error::probability("cut_pages", self.cut_pages)?;
        error::probability("offline", self.offline)?;
        let mut sum = 0.0;
        for (name, given) in [
            ("throttled", self.throttled),
            ("errors_before", self.errors_before),
            ("errors_after", self.errors_after),
            ("lost_requests", self.lost_requests),
            ("lost_replies", self.lost_replies),
            ("late", self.late),
        ] {
            error::probability(name, given)?;
            sum += given;
            error::probability(name, sum).map_err(|_| LayerError::Probability { name, given })?;
        }
        error::time("the slowest reply", self.slowest, MAX_TIME)?;
        if let Some(latest) = self.latest {
            error::time("the time of a late write", latest, MAX_TIME)?;
        }
        error::time("the time offline", self.offline_time, MAX_TIME)?;
        error::time("the time of a table's deletion", self.deletion_time, MAX_TIME)
    }
}
