//! Writes of many entities, in either form: those of one partition share transactions.
//!
//! Invariants:
//! - If a transaction is rejected, its entities go on singly. If its answer is lost, an entity that it may have
//!   written is not sent again: a second insert would fail because of the first.
//! - An entity is inserted in its new form only after a marker is under its old key.

use super::canonical::canonical_key;
use super::follow::{deleted, inserted, send_and_settle};
use super::large_values::has_values_of_old_key;
use super::loaded::{MigratingLoaded, Stored};
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_key::old_key;
use super::old_place::{as_old, check_conversion};
use super::stays::has_one_form;
use super::stored_form::StoredForm;
use crate::entity::{EntityRows, canonical, has_large};
use crate::error::{Error, Result};
use crate::eventual::Intents;
use crate::plan::{MeasuredBatch, delete_all, insert_all};
use crate::store::{Batch, IfMatch};
use crate::sync::Concurrent;
use futures_core::future::BoxFuture;
use std::collections::BTreeMap;

/// How many transactions, or single entities, are sent at once.
const PARALLELISM: usize = 16;

/// The result of a write of many entities.
#[derive(Debug)]
#[must_use = "it may hold failures; `.all()?` returns the count, or the first failure"]
#[non_exhaustive]
pub struct ManyReport<T> {
    /// Entities that were written.
    pub written: u64,
    /// Entities that were not written, or may not have been.
    pub failures: Vec<ManyFailure<T>>,
}

/// Entities that a write of many entities has not written.
#[derive(Debug)]
#[non_exhaustive]
pub struct ManyFailure<T> {
    /// The entities: one, or all of a transaction whose answer was lost. Those may be written.
    pub entities: Vec<T>,
    /// The reason.
    pub error: Error,
}

impl<T> ManyReport<T> {
    /// Returns the number of written entities when all were.
    ///
    /// # Errors
    /// The error of the first failure. Use the fields of the report to see what was written.
    pub fn all(self) -> Result<u64> {
        self.failures.into_iter().next().map_or(Ok(self.written), |failure| Err(failure.error))
    }
}

/// The transactions of one entity, one after the other.
type Steps = Vec<Step>;

/// A transaction.
#[derive(Debug, Clone)]
struct Step {
    /// In which table it is.
    form: StoredForm,
    batch: Batch,
    /// What it makes due in other partitions.
    due: Intents,
}

/// Writes one entity alone.
type Single<E, T> = for<'a> fn(&'a Migrating<E>, &'a T) -> BoxFuture<'a, Result<()>>;

/// Entities that share their transactions.
struct Shared<T> {
    entities: Vec<T>,
    steps: Steps,
    /// Of each step.
    sizes: Vec<StepSize>,
}

/// How much of a transaction the operations of a step take.
#[derive(Debug, Clone, Copy)]
struct StepSize {
    bytes: usize,
    /// With those for totals and events.
    operations: usize,
}

impl StepSize {
    /// That of both together.
    const fn and(self, other: Self) -> Self {
        let (bytes, operations) = (self.bytes + other.bytes, self.operations + other.operations);
        Self { bytes, operations }
    }
}

impl<E: Migrates> Migrating<E> {
    /// Inserts many entities in the form of this client; those of one partition share transactions of at most 100
    /// operations and 4 MiB. One request for each transaction in the old form, and where old and new rows are in
    /// one partition; else two. The entities of a transaction that is rejected are inserted singly. Holds all
    /// entities in memory.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32 }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32 }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n }: LotV1) -> Self { Self { hall, n } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n }: Lot) -> Self { Self { hall, n } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<LotV1>().create_table().await?;
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let report = lots.insert_many((0..250).map(|n| Lot { hall: "a".into(), n })).await;
    /// assert_eq!(report.all()?, 250);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The report has the error of each entity that was not written: those of [`insert`](Self::insert).
    pub async fn insert_many(&self, entities: impl IntoIterator<Item = E>) -> ManyReport<E> {
        let prepared = entities.into_iter().map(|entity| (self.steps_of_insert(&entity), entity));
        self.write_many(prepared.collect(), |client, entity| Box::pin(client.insert(entity))).await
    }

    /// Upserts many entities, 16 at once; those of one key in the order of the input. Each takes as many requests as
    /// [`upsert`](Self::upsert), which reads it first. Holds all entities in memory.
    ///
    /// The report has the error of each entity that was not written: those of [`upsert`](Self::upsert).
    pub async fn upsert_many(&self, entities: impl IntoIterator<Item = E>) -> ManyReport<E> {
        let mut report = ManyReport::new();
        let mut of_key = BTreeMap::<_, Vec<E>>::new();
        for entity in entities {
            match EntityRows::of(&entity) {
                Ok(rows) => of_key.entry(canonical_key(&rows)).or_default().push(entity),
                Err(invalid) => report.fail(vec![entity], invalid.into()),
            }
        }
        let upserts = of_key.into_values();
        let upserts = upserts.map(|entities| {
            self.send_singly(entities, |client, entity| Box::pin(client.upsert(entity)))
        });
        report.add_all(Concurrent::unordered(upserts, PARALLELISM)).await;
        report
    }

    /// Deletes many loaded entities, each if nobody has written it since, in its own form; those of one form and
    /// partition share transactions, one request each, unless the type has `overflow`. The entities of a transaction that is rejected are deleted
    /// singly. Holds all entities in memory.
    ///
    /// The report has the error of each entity that was not deleted: those of [`delete`](Self::delete).
    pub async fn delete_many(
        &self,
        entities: impl IntoIterator<Item = MigratingLoaded<E>>,
    ) -> ManyReport<MigratingLoaded<E>> {
        let prepared = entities.into_iter().map(|held| (self.steps_of_delete(&held), held));
        let entities = prepared.collect();
        self.write_many(entities, |client, held| Box::pin(client.delete(held.clone()))).await
    }

    fn steps_of_insert(&self, entity: &E) -> Result<Steps> {
        let rows = EntityRows::of_in(entity, self.new.table())?;
        let new = canonical_key(&rows);
        if self.form == StoredForm::New && has_values_of_old_key::<E>(&rows) {
            // The insert of one entity copies them.
            check_conversion(entity, &rows)?;
            return Ok(Steps::new());
        }
        if self.form == StoredForm::Old && !has_one_form::<E>(&new) {
            let (_, old_rows) = as_old(entity, &rows)?;
            let due = inserted::<E::Old>(&self.old.client, &old_rows)?;
            return Ok(vec![Step { form: StoredForm::Old, batch: insert_all(old_rows), due }]);
        }
        check_conversion(entity, &rows)?;
        let due = inserted::<E>(&self.new.client, &rows)?;
        // Where no old key has the values, or it is the same, there is one form.
        let Some(key) = old_key::<E>(&new) else {
            return Ok(vec![Step { form: StoredForm::New, batch: insert_all(rows), due }]);
        };
        let (batch, together) = self.insert_marker(&key, &rows)?;
        if together {
            return Ok(vec![Step { form: StoredForm::New, batch, due }]);
        }
        let marker = Step { form: StoredForm::Old, batch, due: Intents::default() };
        Ok(vec![marker, Step { form: StoredForm::New, batch: insert_all(rows), due }])
    }

    fn steps_of_delete(&self, held: &MigratingLoaded<E>) -> Result<Steps> {
        if has_large::<E>() || has_large::<E::Old>() {
            // The delete of one entity removes its values.
            return Ok(Steps::new());
        }
        Ok(match &held.stored {
            Stored::New(loaded) => {
                let version = IfMatch::ETag(loaded.etag().clone());
                let batch = delete_all(loaded.stored_rows()?, canonical::<E>(), &version);
                let due = deleted(&self.new.client, loaded)?;
                vec![Step { form: StoredForm::New, batch, due }]
            }
            Stored::Old(old) => {
                let version = IfMatch::ETag(old.etag.clone());
                let rows = old.old_rows.clone();
                let batch = delete_all(rows, canonical::<E::Old>(), &version);
                let due = deleted(&self.old.client, &old.loaded(&self.old.client)?)?;
                vec![Step { form: StoredForm::Old, batch, due }]
            }
            // In a transaction with others, a parcel that is gone could not be told.
            Stored::Parcel(_) | Stored::Moved => Steps::new(),
        })
    }

    /// Sends the transactions of each entity with those of others; `single` writes one alone.
    async fn write_many<T: Send + Sync + 'static>(
        &self,
        entities: Vec<(Result<Steps>, T)>,
        single: Single<E, T>,
    ) -> ManyReport<T> {
        let mut report = ManyReport::new();
        let mut prepared = Vec::with_capacity(entities.len());
        for (steps, entity) in entities {
            match steps {
                Ok(steps) => prepared.push((steps, entity)),
                Err(error) => report.fail(vec![entity], error),
            }
        }
        let shared = self.share(prepared).into_iter();
        let sent = shared.map(|shared| self.send_shared(shared, single));
        report.add_all(Concurrent::unordered(sent, PARALLELISM)).await;
        report
    }

    /// Joins the transactions of entities of the same partitions.
    fn share<T>(&self, entities: Vec<(Steps, T)>) -> Vec<Shared<T>> {
        let (mut full, mut open) = (Vec::new(), BTreeMap::<_, Shared<T>>::new());
        for (steps, entity) in entities {
            let client = |form| match form {
                StoredForm::Old => &self.old.client,
                StoredForm::New => &self.new.client,
            };
            let measured: Vec<_> =
                steps.iter().map(|step| client(step.form).measure(step.batch.clone())).collect();
            let size = |of: &MeasuredBatch| StepSize {
                bytes: of.bytes,
                operations: of.batch.operations.len() + of.more,
            };
            let sizes: Vec<_> = measured.iter().map(size).collect();
            let place: Vec<_> = steps
                .iter()
                .map(|step| (step.form == StoredForm::Old, step.batch.partition_key.clone()))
                .collect();
            if place.is_empty() {
                full.push(Shared { entities: vec![entity], steps, sizes });
                continue;
            }
            let Some(shared) = open.get_mut(&place) else {
                open.insert(place, Shared { entities: vec![entity], steps, sizes });
                continue;
            };
            let both: Vec<_> =
                shared.sizes.iter().zip(&sizes).map(|(all, new)| all.and(*new)).collect();
            let due = shared.steps.iter().zip(&steps);
            let due = due.map(|(all, step)| all.due.len().max(step.due.len()));
            let fits = both.iter().zip(&measured).zip(due).all(|((size, measured), due)| {
                size.operations + due <= measured.most && size.bytes <= measured.room
            });
            if fits {
                shared.entities.push(entity);
                for (all, step) in shared.steps.iter_mut().zip(steps) {
                    all.batch.operations.extend(step.batch.operations);
                    all.due.join(step.due);
                }
                shared.sizes = both;
            } else {
                let next = Shared { entities: vec![entity], steps, sizes };
                full.push(std::mem::replace(shared, next));
            }
        }
        full.extend(open.into_values());
        full
    }

    async fn send_shared<T: Send + Sync>(
        &self,
        shared: Shared<T>,
        single: Single<E, T>,
    ) -> ManyReport<T> {
        let Shared { entities, steps, .. } = shared;
        if entities.len() > 1 {
            let mut report = ManyReport::new();
            match self.send_steps(steps).await {
                Ok(()) => {
                    report.written = entities.len() as u64;
                    return report;
                }
                Err(Some(lost)) => {
                    report.fail(entities, lost);
                    return report;
                }
                Err(None) => {}
            }
        }
        self.send_singly(entities, single).await
    }

    /// Writes entities one after the other.
    async fn send_singly<T: Send + Sync>(
        &self,
        entities: Vec<T>,
        single: Single<E, T>,
    ) -> ManyReport<T> {
        let mut report = ManyReport::new();
        for entity in entities {
            match single(self, &entity).await {
                Ok(()) => report.written += 1,
                Err(error) => report.fail(vec![entity], error),
            }
        }
        report
    }

    /// Sends transactions one after the other. Fails with the error of the last one where its answer is lost, and with
    /// none where the entities can go on singly.
    async fn send_steps(&self, steps: Steps) -> Result<(), Option<Error>> {
        let last = steps.len();
        for (at, Step { form, batch, due }) in steps.into_iter().enumerate() {
            let client = match form {
                StoredForm::Old => &self.old.client,
                StoredForm::New => &self.new.client,
            };
            match send_and_settle(client, batch, None, due).await {
                Ok(_) => {}
                // Markers that were sent twice do no harm.
                Err(error) if error.is_unanswered() && at + 1 == last => return Err(Some(error)),
                Err(_) => return Err(None),
            }
        }
        Ok(())
    }
}

impl<T> ManyReport<T> {
    const fn new() -> Self {
        Self { written: 0, failures: Vec::new() }
    }

    /// Adds what others write at the same time.
    async fn add_all(&mut self, mut others: Concurrent<'_, Self>)
    where
        T: Send + 'static,
    {
        while let Some(other) = others.next().await {
            self.written += other.written;
            self.failures.extend(other.failures);
        }
    }

    fn fail(&mut self, entities: Vec<T>, error: Error) {
        self.failures.push(ManyFailure { entities, error });
    }
}
