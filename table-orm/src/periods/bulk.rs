//! Writes of many entities into the tables of their periods.
//!
//! Invariants: entities of one period are written in the order of the input, as [`Bulk`] writes them. The report
//! lists each entity once. Memory holds at most [`BUFFERED`] entities that were read and not written, besides
//! those that failed.

use super::{Bucketed, Periods};
use crate::entity::Loaded;
use crate::model::TableName;
use crate::repo::{
    Bulk, BulkProgress, BulkReport, DEFAULT_PARALLELISM, IntoSource, Remainder, Repo, Source,
};
use futures_core::future::BoxFuture;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::vec;

/// How many entities of the input are read before they are written, period by period.
pub const BUFFERED: usize = 10_000;

impl<E: Bucketed> Periods<E> {
    /// Inserts many entities, each into the table of its period, as [`Repo::insert_many`] does in one table.
    ///
    /// Reads up to [`BUFFERED`] entities, writes those of the oldest period, then those of the next, and reads on.
    /// An input in the order of time makes the largest transactions.
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
    /// let at = |days| Reading { sensor: "roof".into(), at: now - Duration::days(days) };
    /// let written = readings.insert_many((0..90).map(at)).await.all()?;
    /// assert_eq!(written.entities, 90);
    /// assert_eq!(readings.existing().await?.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_many<'a, I, K>(&self, entities: I) -> PeriodsBulk<'a, E, E, I::Source>
    where
        I: IntoSource<E, K>,
    {
        self.bulk(entities.into_source(), Self::of, |repo, entities| repo.insert_many(entities))
    }

    /// Inserts or replaces many entities, each in the table of its period, as [`Repo::upsert_many`] does in one
    /// table.
    pub fn upsert_many<'a, I, K>(&self, entities: I) -> PeriodsBulk<'a, E, E, I::Source>
    where
        I: IntoSource<E, K>,
        E: 'static,
    {
        self.bulk(entities.into_source(), Self::of, |repo, entities| repo.upsert_many(entities))
    }

    /// Deletes many loaded entities, each in the table where it is stored, as [`Repo::delete_many`] does in one
    /// table. To delete all of a period, drop its table: [`retain`](Self::retain).
    pub fn delete_many<'a, I, K>(&self, entities: I) -> PeriodsBulk<'a, E, Loaded<E>, I::Source>
    where
        I: IntoSource<Loaded<E>, K>,
    {
        let delete = |repo: &Repo<E>, entities| repo.delete_many(entities);
        self.bulk(entities.into_source(), Self::of_stored, delete)
    }

    fn bulk<'a, T, I>(
        &self,
        input: I,
        place: fn(&Self, &T) -> Repo<E>,
        write: Start<E, T>,
    ) -> PeriodsBulk<'a, E, T, I> {
        let (periods, parallelism) = (self.clone(), DEFAULT_PARALLELISM);
        PeriodsBulk { periods, input, place, write, parallelism, continues: false, progress: None }
    }
}

/// Starts to write entities in one table.
type Start<E, T> = for<'r> fn(&'r Repo<E>, Vec<T>) -> Bulk<'static, T, vec::IntoIter<T>>;

/// A write of many entities into several tables: `.await` sends it, and returns a [`BulkReport`].
#[must_use = "nothing is sent until this is awaited"]
pub struct PeriodsBulk<'a, E, T, I> {
    periods: Periods<E>,
    input: I,
    /// The table of an entity.
    place: fn(&Periods<E>, &T) -> Repo<E>,
    write: Start<E, T>,
    parallelism: usize,
    continues: bool,
    progress: Option<Box<dyn FnMut(BulkProgress) + Send + 'a>>,
}

impl<E, T, I> fmt::Debug for PeriodsBulk<'_, E, T, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeriodsBulk").field("base", &self.periods.base).finish_non_exhaustive()
    }
}

impl<'a, E, T, I> PeriodsBulk<'a, E, T, I> {
    /// Sets how many requests are in flight at most, as [`Bulk::parallelism`] does.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests;
        self
    }

    /// Goes on after an entity that the store rejects, as [`Bulk::continue_on_failure`] does.
    pub fn continue_on_failure(mut self) -> Self {
        self.continues = true;
        self
    }

    /// Calls `progress` after each answer, with the counts of all tables.
    pub fn on_progress(mut self, progress: impl FnMut(BulkProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl<E: Bucketed, T: Send + 'static, I: Source<Item = T>> PeriodsBulk<'_, E, T, I> {
    async fn run(mut self) -> BulkReport<T, I> {
        let mut written = BulkProgress::default();
        let (mut failures, mut unsent) = (Vec::new(), Vec::new());
        let mut is_stopped = false;
        while !is_stopped {
            let entities = self.buffer().await;
            if entities.is_empty() {
                break;
            }
            for (repo, entities) in self.by_table(entities) {
                if is_stopped {
                    unsent.extend(entities);
                    continue;
                }
                let report = self.write(&repo, entities, written).await;
                written = written.plus(report.written);
                is_stopped = !(report.failures.is_empty() || self.continues);
                failures.extend(report.failures);
                let rest: Vec<T> = report.remainder.collect();
                // A fault that is not of one entity stops it, too.
                is_stopped |= !rest.is_empty();
                unsent.extend(rest);
            }
        }
        BulkReport { written, failures, remainder: Remainder::new(unsent, self.input) }
    }

    /// The next entities of the input.
    async fn buffer(&mut self) -> Vec<T> {
        let mut entities = Vec::new();
        while entities.len() < BUFFERED
            && let Some(entity) = poll_fn(|context| self.input.poll_next(context)).await
        {
            entities.push(entity);
        }
        entities
    }

    /// The entities of each table, in the order of the tables.
    fn by_table(&self, entities: Vec<T>) -> impl Iterator<Item = (Repo<E>, Vec<T>)> + use<E, T, I> {
        let mut tables: BTreeMap<TableName, (Repo<E>, Vec<T>)> = BTreeMap::new();
        for entity in entities {
            let repo = (self.place)(&self.periods, &entity);
            let (_, of_table) =
                tables.entry(repo.table().clone()).or_insert_with(|| (repo, Vec::new()));
            of_table.push(entity);
        }
        tables.into_values()
    }

    async fn write(
        &mut self,
        repo: &Repo<E>,
        entities: Vec<T>,
        before: BulkProgress,
    ) -> BulkReport<T, vec::IntoIter<T>> {
        let (progress, continues) = (&mut self.progress, self.continues);
        let mut bulk: Bulk<'_, T, _> = (self.write)(repo, entities).parallelism(self.parallelism);
        if continues {
            bulk = bulk.continue_on_failure();
        }
        if let Some(progress) = progress {
            bulk = bulk.on_progress(|written| progress(before.plus(written)));
        }
        bulk.await
    }
}

impl<'a, E, T, I> IntoFuture for PeriodsBulk<'a, E, T, I>
where
    E: Bucketed + 'a,
    T: Send + 'static,
    I: Source<Item = T> + Send + 'a,
{
    type Output = BulkReport<T, I>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
