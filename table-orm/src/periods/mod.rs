//! Types with a table for each hour, day, month or year: `#[table(bucket(month, at))]`.
//!
//! [`Tables::periods`](crate::Tables::periods) returns the [`Periods`] of a type. Each table of it is that of an
//! ordinary [`Repo`], so every call on one table is the one of a type with one table. The calls here choose the
//! table: by the time of an entity, by a given time, or those of a range of time.
//!
//! Invariants:
//! - An entity is in the table of its period (`entity::bucket`).
//! - A table that does not exist is an empty one. A write that needs it creates it (`on_demand`).
//! - The rows of several tables come table by table, in the order of their periods.

mod bulk;
mod by_key;
mod each;
mod existing;
mod migrating;
mod on_demand;
mod range;
mod retain;
mod transaction;
mod write;
mod writer;

pub use crate::entity::{Bucketed, Bucketing, PeriodMismatch};
pub use crate::model::{Bucket, Moment, Period, TimeRange};
pub use bulk::{BUFFERED, PeriodsBulk};
#[doc(hidden)]
pub use by_key::KeyWithPeriod;
pub use each::EachPeriod;
pub use migrating::MigratingPeriods;
pub use range::{MAX_PERIODS, PeriodRange};
pub use retain::{Retain, RetainReport, Retention};
pub use writer::{OPEN_PERIODS, PeriodsWriter};

use crate::model::{DateTime, TableName};
use crate::plan::Connection;
use crate::repo::Repo;
use on_demand::OnDemand;
use std::marker::PhantomData;
use std::sync::Arc;

/// The tables of a type with `bucket`, one for each period. Cheap to clone: make one and clone it.
///
/// ```
/// use table_orm::{TableEntity, Tables};
/// use time::{Duration, OffsetDateTime};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
/// struct Reading { sensor: String, at: OffsetDateTime, celsius: f64 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let readings = Tables::in_memory()?.periods::<Reading>();
/// # let november = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
/// for days in [0, 40, 80] {
///     let at = november + Duration::days(days);
///     // The first write of a month creates its table.
///     readings.insert(&Reading { sensor: "roof".into(), at, celsius: 20.5 }).await?;
/// }
/// let names: Vec<_> = readings.existing().await?.iter().map(|period| period.to_string()).collect();
/// assert_eq!(names, ["202611", "202612", "202701"]);
///
/// // One month: every call of a `Repo`.
/// assert_eq!(readings.at(november).table().as_str(), "readings202611");
/// assert_eq!(readings.at(november).list(Reading::partition("roof")).count().await?, 1);
/// // Several months: a month that was never written is empty.
/// let all = readings.during(november - Duration::days(90)..november + Duration::days(90));
/// assert_eq!(all.list(Reading::partition("roof")).collect().await?.len(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Periods<E> {
    connection: Arc<Connection>,
    base: TableName,
    entity: PhantomData<fn() -> E>,
}

impl<E> Clone for Periods<E> {
    fn clone(&self) -> Self {
        let (connection, base) = (Arc::clone(&self.connection), self.base.clone());
        Self { connection, base, entity: PhantomData }
    }
}

impl<E: Bucketed> Periods<E> {
    #[allow(clippy::panic, reason = "at compile time, of an implementation by hand")]
    pub(crate) const BUCKETING: Bucketing<E> = match E::BUCKET {
        Some(bucketing) => bucketing,
        None => panic!("a type that is `Bucketed` has a `BUCKET`"),
    };

    /// Tables whose names are `base` and the digits of a period.
    pub(crate) fn new(connection: &Connection, base: TableName) -> Self {
        let store = Arc::clone(&connection.store);
        let on_demand = OnDemand::new(store, base.clone(), Self::BUCKETING.bucket());
        let connection = Arc::new(connection.with_store(Arc::new(on_demand)));
        Self { connection, base, entity: PhantomData }
    }

    /// The table of the period of `time`: an instant, or a [`Period`]. It need not exist: it is empty, and its
    /// first write creates it.
    ///
    /// Every call of a [`Repo`] works on that table, such as `get`, `load`, `update`, `scan`, `verify` and
    /// `backfill`. A write of an entity of another period fails with
    /// [`Error::PeriodMismatch`](crate::Error::PeriodMismatch).
    ///
    /// An instant outside the years 1601 to 9999 has no period. Then the repository is that of the first one, in 1601.
    #[must_use]
    pub fn at(&self, time: impl Moment) -> Repo<E> {
        let time = time.moment().unwrap_or(DateTime::MIN);
        self.repo(Period::of(Self::BUCKETING.bucket(), time))
    }

    /// The table that the entity belongs in.
    #[must_use]
    pub fn of(&self, entity: &E) -> Repo<E> {
        match Self::BUCKETING.period_of(entity) {
            Some(period) => self.repo(period),
            // A write fails with the error of the time.
            None => self.at(DateTime::MIN),
        }
    }

    fn repo(&self, period: Period) -> Repo<E> {
        Repo::new(Arc::clone(&self.connection), period.table(&self.base))
    }
}
