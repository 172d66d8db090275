//! One call for each period of a range.

use super::{Bucketed, Period, PeriodRange, Periods, TimeRange};
use crate::entity::{MemberOf, Row, TableUnion, UnionMember, UnionScope};
use crate::error::{Error, Result};
use crate::key::KeyError;
use crate::query::ScanPermit;
use crate::repo::{RowStream, UnionList, until_error};
use crate::scan::{Scan, ScanReport, ScanStream};
use futures_util::{StreamExt as _, stream};

/// A call on the table of each period of a range, in the order of the range: of a [`Scan`], or of a query of a union
/// ([`UnionList`]). One of the last methods sends it.
///
/// One table is read after the other, and rows come in that order. A table that does not exist is one request.
#[must_use = "nothing is sent until `stream`, `collect` or another last method"]
#[derive(Debug, Clone)]
pub struct EachPeriod<C> {
    calls: Result<Vec<(Period, C)>, KeyError>,
}

impl<E: Bucketed> Periods<E> {
    /// Scans the tables of a range of time, one after the other:
    /// [`during`](Self::during)`(range).`[`scan`](PeriodRange::scan)`(permit)`.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let readings = Tables::in_memory()?.periods::<Reading>();
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// # let at = |days| Reading { sensor: "roof".into(), at: now - Duration::days(days), celsius: 20.5 };
    /// # readings.insert_many((0..90).map(at)).await.all()?;
    /// let quarter = now - Duration::days(90)..=now;
    /// let scan = readings.scan(quarter, ScanPermit::because("report of the quarter"));
    /// let warm = scan.each(|_, scan| scan.concurrency(4).filter(|row| row.celsius.gt(15.0)));
    /// let mut rows = warm.stream();
    /// let mut count = 0;
    /// while let Some(_reading) = rows.next().await? {
    ///     count += 1;
    /// }
    /// assert_eq!((count, rows.report().rows), (90, 90));
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(
        &self,
        range: impl TimeRange,
        permit: ScanPermit,
    ) -> EachPeriod<Scan<E, E::Canonical>> {
        self.during(range).scan(permit)
    }
}

impl<E: Bucketed> PeriodRange<E> {
    /// Scans the tables, one after the other. [`each`](EachPeriod::each) sets the options of the scans.
    pub fn scan(&self, permit: ScanPermit) -> EachPeriod<Scan<E, E::Canonical>> {
        self.call(|period| self.periods.at(period).scan(permit.clone()))
    }

    /// Queries the entities of one partition that are of one of the types of `U`, in each table, as
    /// [`Tables::union`](crate::Tables::union) does in one. All types of `U` have periods of one length: else it does
    /// not compile.
    ///
    /// ```
    /// # use table_orm::{TableEntity, TableUnion, Tables};
    /// # use table_orm::model::DateTime;
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "logs", partition = "{host}", row = "A:{at}", bucket(day, at))]
    /// struct Access { host: String, at: DateTime }
    ///
    /// #[derive(Debug, PartialEq, TableEntity)]
    /// #[table(name = "logs", partition = "{host}", row = "F:{at}", bucket(day, at))]
    /// struct Fault { host: String, at: DateTime, text: String }
    ///
    /// #[derive(Debug, PartialEq, TableUnion)]
    /// enum Log { Access(Access), Fault(Fault) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// let (accesses, faults) = (tables.periods::<Access>(), tables.periods::<Fault>());
    /// let (monday, tuesday): (DateTime, DateTime) = ("2026-11-23T08:00:00Z".parse()?, "2026-11-24T08:00:00Z".parse()?);
    /// accesses.insert(&Access { host: "web-1".into(), at: tuesday }).await?;
    /// faults.insert(&Fault { host: "web-1".into(), at: monday, text: "disk".into() }).await?;
    /// let both = accesses.during(monday..=tuesday).union::<Log>(Access::partition("web-1"));
    /// let logs = both.collect().await?;
    /// assert!(matches!(&logs[..], [Log::Fault(_), Log::Access(_)]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # use table_orm::{TableEntity, TableUnion, Tables};
    /// # use table_orm::model::DateTime;
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "logs", partition = "{host}", row = "A:{at}", bucket(day, at))]
    /// struct Access { host: String, at: DateTime }
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "logs", partition = "{host}", row = "F:{at}", bucket(month, at))]
    /// struct Fault { host: String, at: DateTime }
    ///
    /// #[derive(Debug, TableUnion)]
    /// enum Log { Access(Access), Fault(Fault) }
    /// # fn main() -> table_orm::Result<()> {
    /// # let now = DateTime::MIN;
    /// let week = Tables::in_memory()?.periods::<Access>().during(now..=now);
    /// let logs = week.union::<Log>(Access::partition("web-1"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn union<U>(
        &self,
        partition: impl UnionScope<Row: Row<Entity: MemberOf<U>>>,
    ) -> EachPeriod<UnionList<U>>
    where
        U: TableUnion,
        E: MemberOf<U>,
    {
        const {
            UnionMember::have_one_form(U::MEMBERS);
            UnionMember::have_periods_of(U::MEMBERS, Periods::<E>::BUCKETING.bucket());
        }
        let connection = &self.periods.connection;
        let any = UnionList::<U>::new(connection.clone(), self.periods.base.clone(), partition);
        self.call(|period| any.clone().in_table(period.table(&self.periods.base)))
    }

    fn call<C>(&self, call: impl Fn(Period) -> C) -> EachPeriod<C> {
        let periods = self.ordered();
        let calls = |periods: Vec<Period>| {
            periods.into_iter().map(|period| (period, call(period))).collect()
        };
        EachPeriod { calls: periods.map(calls) }
    }
}

impl<C> EachPeriod<C> {
    /// Changes the call of each period, such as its options.
    ///
    /// Options count for each table by itself: `take(10)` reads ten rows of each. A checkpoint is that of one table,
    /// so give each period its own.
    pub fn each<D>(self, mut change: impl FnMut(Period, C) -> D) -> EachPeriod<D> {
        let change = |(period, call)| (period, change(period, call));
        EachPeriod { calls: self.calls.map(|calls| calls.into_iter().map(change).collect()) }
    }

    /// The calls, in order, each with its period: to run them in another way, such as all at once.
    ///
    /// # Errors
    /// [`Error::Key`] when the range of time makes no sense, as for [`PeriodRange::periods`].
    pub fn into_calls(self) -> Result<Vec<(Period, C)>> {
        Ok(self.calls?)
    }

    fn calls(self) -> Result<Vec<C>> {
        Ok(self.calls?.into_iter().map(|(_, call)| call).collect())
    }
}

impl<T: crate::entity::ReadRow + Send + 'static, R: 'static> EachPeriod<Scan<T, R>> {
    /// Streams the rows. Each scan starts when the rows of the one before were taken. The stream's report counts
    /// what all of them did.
    #[must_use]
    pub fn stream(self) -> ScanStream<T> {
        match self.calls() {
            Ok(scans) => ScanStream::one_after_another(scans),
            Err(wrong) => ScanStream::failed(wrong),
        }
    }

    /// Reads all rows into memory.
    ///
    /// # Errors
    /// [`Error::Key`] when the range of time makes no sense; else as [`Scan::collect`].
    pub async fn collect(self) -> Result<Vec<T>> {
        let (mut stream, mut rows) = (self.stream(), Vec::new());
        while let Some(row) = stream.next().await? {
            rows.push(row);
        }
        Ok(rows)
    }

    /// Counts the rows, as [`Scan::count`] does.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn count(self) -> Result<ScanReport> {
        let mut report = ScanReport::default();
        for scan in self.calls()? {
            report = report.plus(scan.count().await?);
        }
        Ok(report)
    }
}

impl<U: TableUnion + Send + 'static> EachPeriod<UnionList<U>> {
    /// Streams the entities: each table is asked when those of the one before were taken.
    #[must_use]
    pub fn stream(self) -> RowStream<U> {
        match self.calls() {
            Ok(lists) => {
                RowStream::new(until_error(stream::iter(lists).flat_map(UnionList::stream)))
            }
            Err(wrong) => RowStream::new(stream::iter([Err::<U, Error>(wrong)])),
        }
    }

    /// Reads all entities.
    ///
    /// # Errors
    /// [`Error::Key`] when the range of time makes no sense; else as [`UnionList::collect`].
    pub async fn collect(self) -> Result<Vec<U>> {
        let (mut stream, mut entities) = (self.stream(), Vec::new());
        while let Some(entity) = stream.next().await? {
            entities.push(entity);
        }
        Ok(entities)
    }

    /// Returns the number of entities, as [`UnionList::count`] does.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn count(self) -> Result<usize> {
        let mut entities = 0;
        for list in self.calls()? {
            entities += list.count().await?;
        }
        Ok(entities)
    }
}
