//! Dropping the tables of old periods.
//!
//! Invariant: only tables of periods before those to keep are dropped, and oldest first: a call that failed in
//! the middle is completed by the same call. Blobs are listed before the tables, and deleted after them.

use super::{Bucketed, Moment, Period, Periods};
use crate::error::{Error, Result, rejected};
use crate::model::{DateTime, TableName};
use crate::repo::is_gone;
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
    /// assert_eq!(old.await.all()?, plan);
    /// assert_eq!(readings.existing().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn retain(&self, periods: usize, now: impl Moment) -> Retain<E> {
        // Outside the service's years, nothing is old.
        let now = now.moment().unwrap_or(DateTime::MIN);
        let last = Period::of(Self::BUCKETING.bucket(), now);
        Retain { periods: self.clone(), keep: periods, last, deletes_blobs: false }
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
    deletes_blobs: bool,
}

impl<E> Clone for Retain<E> {
    fn clone(&self) -> Self {
        let Self { periods, keep, last, deletes_blobs } = self;
        Self { periods: periods.clone(), keep: *keep, last: *last, deletes_blobs: *deletes_blobs }
    }
}

/// Which tables are kept, and which are dropped, or would be: oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// The tables that stay.
    pub keeps: Vec<TableName>,
    /// The tables that go.
    pub drops: Vec<TableName>,
    /// Blobs that go with them, if [`delete_blobs`](Retain::delete_blobs) is set.
    pub blobs: usize,
}

/// What a drop of old tables did.
#[derive(Debug)]
#[must_use = "it may hold an error"]
#[non_exhaustive]
pub struct RetainReport {
    /// The tables that stay, and those that were dropped. Of an unfinished drop, `drops` has only those that are gone.
    pub retention: Retention,
    /// The error that ended it before the end. Call it again: it goes on with the tables that are left.
    pub ended: Option<Error>,
}

impl RetainReport {
    /// Returns what stays and what was dropped when the call reached the end.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn all(self) -> Result<Retention> {
        self.ended.map_or(Ok(self.retention), Err)
    }
}

/// One line for people.
impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keeps, drops, blobs } = self;
        let tables = if keeps.len() == 1 { "table" } else { "tables" };
        write!(f, "keeps {} {tables}, drops {}", keeps.len(), drops.len())?;
        for (at, table) in drops.iter().enumerate() {
            write!(f, "{} {table}", if at == 0 { ":" } else { "," })?;
        }
        match blobs {
            0 => Ok(()),
            blobs => write!(f, "; deletes {blobs} blobs of old tables"),
        }
    }
}

impl<E: Bucketed> Retain<E> {
    /// Deletes the [blobs](crate::guide::run::large_values#in-blobs) of the large values of old tables, too, after the
    /// tables: one request for each. Before, it lists the names of all blobs that begin with the type's table name: one
    /// request for each 5,000, for which the credential needs the permission to list. Without this, they stay, and
    /// the account pays for them.
    ///
    /// The container must have the values of no other tables of these names. After an error, call it again: blobs of
    /// old tables that are gone are deleted, too. A value that is uploaded meanwhile may leave its blob.
    pub const fn delete_blobs(mut self) -> Self {
        self.deletes_blobs = true;
        self
    }

    /// Lists what it would drop, and drops nothing: one request for each 1000 tables of the account, and with
    /// [`delete_blobs`](Self::delete_blobs) those that list blobs.
    ///
    /// # Errors
    /// When the store cannot be reached or read.
    pub async fn plan(&self) -> Result<Retention> {
        Ok(self.find().await?.0)
    }

    /// What it drops, with the blobs of old tables: listed before the tables.
    async fn find(&self) -> Result<(Retention, Vec<String>)> {
        // The first period that is too old, if there is one.
        let newest_old = match self.keep {
            0 => Some(self.last),
            keep => self.last.back(keep - 1).previous(),
        };
        let is_old = |period: Period| newest_old.is_some_and(|old| period <= old);
        let blobs = if self.deletes_blobs { self.periods.blobs(is_old).await? } else { Vec::new() };
        let tables = self.periods.tables().await?.into_iter();
        let (drops, keeps): (Vec<_>, Vec<_>) = tables.partition(|(period, _)| is_old(*period));
        let names =
            |tables: Vec<(Period, TableName)>| tables.into_iter().map(|(_, table)| table).collect();
        Ok((Retention { keeps: names(keeps), drops: names(drops), blobs: blobs.len() }, blobs))
    }

    async fn run(self) -> RetainReport {
        let mut retention = Retention::default();
        let ended = self.drop_tables(&mut retention).await.err().map(Error::repeatable);
        RetainReport { retention, ended }
    }

    async fn drop_tables(self, done: &mut Retention) -> Result<()> {
        let (Retention { keeps, drops, .. }, blobs) = self.find().await?;
        done.keeps = keeps;
        let connection = &self.periods.connection;
        for table in drops {
            let dropped = connection.delete_table(&table).await;
            match dropped.map_err(|cause| rejected(table.as_str(), cause)) {
                Err(error) if !is_going(&error) => return Err(error),
                // Another process drops the same tables.
                _ => done.drops.push(table),
            }
        }
        let count = blobs.len();
        if count > 0 {
            connection.delete_blobs(blobs).await?;
        }
        done.blobs = count;
        Ok(())
    }
}

/// Whether the table is not there any more, or goes.
fn is_going(error: &Error) -> bool {
    let is_deleting = |code: &ErrorCode| *code == ErrorCode::TABLE_BEING_DELETED;
    match error {
        Error::TableBeingDeleted(_) => true,
        Error::Ambiguous(lost) => is_gone(error) || is_deleting(lost.cause.answer_code()),
        error => is_gone(error),
    }
}

impl<E: Bucketed + 'static> IntoFuture for Retain<E> {
    type Output = RetainReport;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
