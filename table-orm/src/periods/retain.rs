//! Dropping the tables of old periods.
//!
//! Invariant: only tables of periods before those to keep are dropped, and oldest first: a call that failed in
//! the middle is completed by the same call.

use super::{Bucketed, Moment, Period, Periods};
use crate::error::{Error, Result, rejected};
use crate::model::{DateTime, TableName};
use crate::store::ErrorCode;
use futures_core::future::BoxFuture;
use std::fmt;

impl<E: Bucketed> Periods<E> {
    /// Drops the tables of old periods: `.await` drops them, [`plan`](Retain::plan) lists them first. Keeps the
    /// last `periods` periods, of which that of `now` is the last, and all later ones.
    ///
    /// One request lists the tables, and one drops each. No row is read or deleted by itself.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let readings = Tables::in_memory()?.periods::<Reading>();
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?; // in November 2026
    /// # for days in [0, 30, 365, 395] {
    /// #     let at = now - Duration::days(days);
    /// #     readings.insert(&Reading { sensor: "roof".into(), at }).await?;
    /// # }
    /// let old = readings.retain(12, now);
    /// let plan = old.plan().await?;
    /// assert_eq!(plan.to_string(), "keeps 2 tables, drops 2: readings202510, readings202511");
    /// assert_eq!(old.await?, plan);
    /// assert_eq!(readings.existing().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retain(&self, periods: usize, now: impl Moment) -> Retain<E> {
        // Outside the service's years, nothing is old.
        let now = now.moment().unwrap_or(DateTime::MIN);
        let last = Period::of(Self::BUCKETING.bucket(), now);
        Retain { periods: self.clone(), keep: periods, last }
    }
}

/// A drop of old tables: `.await` drops them, [`plan`](Self::plan) lists them.
#[must_use = "nothing is dropped until this is awaited"]
#[derive(Debug)]
pub struct Retain<E> {
    periods: Periods<E>,
    keep: usize,
    /// The last period to keep.
    last: Period,
}

impl<E> Clone for Retain<E> {
    fn clone(&self) -> Self {
        Self { periods: self.periods.clone(), keep: self.keep, last: self.last }
    }
}

/// Which tables are kept, and which are dropped, or would be: oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// The tables that stay.
    pub keeps: Vec<TableName>,
    /// The tables that go.
    pub drops: Vec<TableName>,
}

/// One line for people.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keeps, drops } = self;
        let tables = if keeps.len() == 1 { "table" } else { "tables" };
        write!(f, "keeps {} {tables}, drops {}", keeps.len(), drops.len())?;
        for (at, table) in drops.iter().enumerate() {
            write!(f, "{} {table}", if at == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

impl<E: Bucketed> Retain<E> {
    /// Lists what it would drop, and drops nothing: one request for each 1000 tables of the account.
    ///
    /// # Errors
    /// When the store cannot be reached or read.
    pub async fn plan(&self) -> Result<Retention> {
        // The first period that is too old, if there is one.
        let newest_old = match self.keep {
            0 => Some(self.last),
            keep => self.last.back(keep - 1).previous(),
        };
        let tables = self.periods.tables().await?.into_iter();
        let (drops, keeps): (Vec<_>, Vec<_>) =
            tables.partition(|(period, _)| newest_old.is_some_and(|old| *period <= old));
        let names =
            |tables: Vec<(Period, TableName)>| tables.into_iter().map(|(_, table)| table).collect();
        Ok(Retention { keeps: names(keeps), drops: names(drops) })
    }

    async fn run(self) -> Result<Retention> {
        let retention = self.plan().await?;
        for table in &retention.drops {
            let dropped = self.periods.connection.delete_table(table).await;
            match dropped.map_err(|cause| rejected(table.as_str(), cause)) {
                Err(error) if !is_gone(&error) => return Err(error),
                // Another process drops the same tables.
                _ => {}
            }
        }
        Ok(retention)
    }
}

/// Whether the table is not there any more, or goes.
fn is_gone(error: &Error) -> bool {
    match error {
        Error::TableNotFound(_) | Error::TableBeingDeleted(_) => true,
        Error::Ambiguous(lost) => *lost.cause.answer_code() == ErrorCode::RESOURCE_NOT_FOUND,
        _ => false,
    }
}

impl<E: Bucketed + 'static> IntoFuture for Retain<E> {
    type Output = Result<Retention>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
