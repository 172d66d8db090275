//! The tables of a range of time.

use super::{Bucketed, Period, Periods, TimeRange};
use crate::entity::{Query, RowOf, keys_of};
use crate::error::Result;
use crate::key::{KeyError, KeyFault};
use crate::model::DateTime;
use crate::repo::{ListMany, Repo};
use std::ops::Bound;

/// The most periods of a range: each is at least one request.
pub const MAX_PERIODS: usize = 10_000;

impl<E: Bucketed> Periods<E> {
    /// The tables of the periods that a range of time touches, oldest first. A range ends with instants or with
    /// [`Period`]s.
    ///
    /// It chooses tables, and leaves no row out: those of the first and the last period may be outside the range.
    /// Add a range of the key, or a [`filter`](ListMany::filter).
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
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// # for days in 0..90 {
    /// #     let at = now - Duration::days(days);
    /// #     readings.insert(&Reading { sensor: "roof".into(), at }).await?;
    /// # }
    /// let roof = Reading::partition("roof");
    /// let week = now - Duration::days(6)..=now;
    /// // Its days are in two months: two requests.
    /// let rows = readings.during(week.clone()).list(roof.row().at_in(week));
    /// assert_eq!(rows.plan()?.steps.len(), 2);
    /// assert_eq!(rows.collect().await?.len(), 7);
    /// # Ok(())
    /// # }
    /// ```
    pub fn during(&self, range: impl TimeRange) -> PeriodRange<E> {
        PeriodRange { periods: self.clone(), range: self.touched(range), newest_first: false }
    }

    /// The periods of a range, oldest first.
    fn touched(&self, range: impl TimeRange) -> Result<Vec<Period>, KeyError> {
        let wrong = |value: String, fault| {
            let component = Self::BUCKETING.field();
            KeyError { entity: E::NAME, component, value, fault }
        };
        let (from, to) = range
            .ends()
            .ok_or_else(|| wrong("an end of the range".to_owned(), KeyFault::OutOfRange))?;
        let (Bound::Included(end) | Bound::Excluded(end)) = to else { return Ok(Vec::new()) };
        if from > end {
            return Err(wrong(format!("{from}..{end}"), KeyFault::InvertedRange));
        }
        let is_in = |period: &Period| match to {
            Bound::Excluded(end) => from < end && period.start() < end,
            _ => period.start() <= end,
        };
        let first = Period::of(Self::BUCKETING.bucket(), from);
        let periods = std::iter::successors(Some(first), |period| period.next());
        let periods: Vec<_> = periods.take_while(is_in).take(MAX_PERIODS + 1).collect();
        match periods.len() {
            0..=MAX_PERIODS => Ok(periods),
            _ => Err(wrong(format!("{from}..{end}"), KeyFault::ManyPeriods(MAX_PERIODS))),
        }
    }
}

/// The tables of several periods. Rows come period by period, and in key order within one.
///
/// So they are in the order of time where the key says so: where a RowKey starts with the time, the rows of a
/// partition are; where it starts with `desc` of the time, they are with [`newest_first`](Self::newest_first).
/// For another order use [`merge_by`](ListMany::merge_by).
#[must_use = "nothing is sent until a list of it is awaited"]
#[derive(Debug)]
pub struct PeriodRange<E> {
    pub(super) periods: Periods<E>,
    range: Result<Vec<Period>, KeyError>,
    newest_first: bool,
}

impl<E> Clone for PeriodRange<E> {
    fn clone(&self) -> Self {
        let (periods, range) = (self.periods.clone(), self.range.clone());
        Self { periods, range, newest_first: self.newest_first }
    }
}

impl<E: Bucketed> PeriodRange<E> {
    /// Reads the newest period first. Rows of one period stay in key order.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "posts", partition = "{blog}", row = "{newest}", bucket(month, at))]
    /// # #[component(newest = desc(at))]
    /// # struct Post { blog: String, at: OffsetDateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let posts = Tables::in_memory()?.periods::<Post>();
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// # for days in [3, 2, 1, 40, 41] {
    /// #     posts.insert(&Post { blog: "rust".into(), at: now - Duration::days(days) }).await?;
    /// # }
    /// // The key starts with `desc(at)`, so the latest of a year come first.
    /// let year = posts.during(now - Duration::days(365)..=now).newest_first();
    /// let mut latest = year.list(Post::partition("rust")).stream();
    /// let age = |post: Option<Post>| post.map(|post| (now - post.at).whole_days());
    /// for days in [1, 2, 3, 40] {
    ///     assert_eq!(age(latest.next().await?), Some(days));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// The periods, in the order in which they are read.
    ///
    /// # Errors
    /// When the range starts after it ends, has more than [`MAX_PERIODS`] periods, or ends outside the years 1601
    /// to 9999: [`Error::Key`](crate::Error::Key).
    pub fn periods(&self) -> Result<Vec<Period>> {
        Ok(self.ordered()?)
    }

    /// The repositories of the tables, in the order in which they are read: for calls on each table by itself,
    /// such as `verify` or `backfill`.
    ///
    /// # Errors
    /// As [`periods`](Self::periods).
    pub fn repos(&self) -> Result<Vec<Repo<E>>> {
        let periods = self.ordered()?.into_iter();
        Ok(periods.map(|period| self.periods.repo(period)).collect())
    }

    pub(super) fn ordered(&self) -> Result<Vec<Period>, KeyError> {
        let mut periods = self.range.clone()?;
        if self.newest_first {
            periods.reverse();
        }
        Ok(periods)
    }

    /// Reads the rows of a query in each table: at least one request for each, also where no table is.
    ///
    /// The list has the last methods of several queries, such as `collect`, `count`, `stream`, and
    /// [`pages`](ListMany::pages) with one token for all tables. `stream` asks a table only when the rows of those
    /// before were taken.
    pub fn list<Q>(&self, query: Q) -> ListMany<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        self.list_many([query])
    }

    /// Reads the rows of several queries of one kind, such as one for each shard, in each table: all queries in
    /// the first table, then all in the next.
    pub fn list_many<Q>(
        &self,
        queries: impl IntoIterator<Item = Q>,
    ) -> ListMany<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        let keys: Vec<_> = queries.into_iter().map(keys_of).collect();
        match self.ordered() {
            Ok(periods) => {
                let repos = periods.into_iter().map(|period| self.periods.repo(period));
                let all = |repo: Repo<E>| keys.iter().map(move |keys| repo.list_keys(keys.clone()));
                ListMany::of(repos.flat_map(all).collect())
            }
            // The last method fails with it.
            Err(wrong) => {
                let anywhere = self.periods.at(DateTime::MIN);
                ListMany::of(vec![anywhere.list_keys(Err(wrong))])
            }
        }
    }
}
