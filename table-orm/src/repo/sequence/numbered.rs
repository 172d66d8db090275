//! Numbers without gaps: entities are inserted in the transaction that takes their numbers.

use super::Sequence;
use super::row::{Shown, Taking, Version};
use crate::entity::{TableEntity, has_one_form};
use crate::error::{Error, Result, TransactionError};
use crate::eventual::{Intents, Settling};
use crate::model::ETag;
use crate::plan::{Attempts, CanonicalKey, insert_all};
use crate::repo::transaction::Writes;
use crate::sync::Permit;
use std::mem;
use std::ops::Range;

/// A write whose answer was lost.
struct Lost {
    taking: Taking,
    /// What it makes due in other partitions if it took effect.
    intents: Intents,
    error: Error,
}

impl Sequence {
    /// Inserts entities with the next numbers, in one transaction: no number is left out, whatever fails.
    /// `number` sets an entity's number. Returns the numbers.
    ///
    /// The entities are of the sequence's partition. Their rows and the sequence's row are at most 100: 99
    /// entities of one row each. Gaps come only from deletes, and from [`next`](Self::next) of the same
    /// sequence, which takes blocks.
    ///
    /// Cost: one request while no other process inserts. Otherwise a read and another transaction; of
    /// processes that insert at once, one succeeds at a time. Calls of one [`Tables`](crate::Tables) and
    /// its clones take turns. Use it for invoices, and `next` for the rest.
    ///
    /// `number` may be called several times for an entity. After an error, the entities have numbers that
    /// say nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// let numbers = invoices.sequence(Invoice::partition("acme"), "invoices");
    /// let invoice = |cents| Invoice { customer: "acme".into(), number: 0, cents };
    /// let mut two = [invoice(900), invoice(150)];
    /// let given = numbers.insert_numbered(&mut two, |invoice, number| invoice.number = number as u32);
    /// assert_eq!(given.await?, 1..3);
    /// assert_eq!(invoices.list(Invoice::partition("acme")).collect().await?, two);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As `insert` of the entities. [`Error::Conflict`] when other processes were faster for all the time:
    /// nothing was written. [`Error::Ambiguous`] or [`Error::Unavailable`] when an answer was lost and the
    /// sequence's row does not show whether the entities were inserted.
    /// [`SequenceError`](crate::repo::SequenceError) when the numbers reach `i64::MAX`.
    pub async fn insert_numbered<E: TableEntity>(
        &self,
        entities: &mut [E],
        mut number: impl FnMut(&mut E, u64),
    ) -> Result<Range<u64>> {
        let key = self.key.as_ref().map_err(Clone::clone)?;
        if entities.is_empty() {
            return Ok(0..0);
        }
        self.check_table::<E>()?;
        let count = entities.len() as u64;
        let permit = self.connection().write_lock(&self.client.table, key).await;
        let mut attempts = Attempts::begin(self.connection(), self.limits);
        let mut known = self.shared().known.take();
        // The writes under the current version whose answers were lost. Their numbers are the same.
        let mut lost: Vec<Lost> = Vec::new();
        let mut in_time = true;
        loop {
            let was_kept = known.is_some();
            let version = match known.take() {
                Some(version) => version,
                None => self.read(key).await.map_err(|error| first_error(&mut lost, error))?,
            };
            if let Some(decided) = judge(&mut lost, &version) {
                self.shared().known = Some(version);
                let (numbers, intents) = decided?;
                intents.settle_unanswered(&self.client, &Settling::default()).await;
                return Ok(numbers);
            }
            if !in_time {
                let changed = self.client.changed(&key.partition_key, &key.row_key);
                return Err(first_error(&mut lost, changed));
            }
            let taking =
                self.take(version, count).map_err(|error| first_error(&mut lost, error))?;
            for (entity, next) in entities.iter_mut().zip(taking.numbers.clone()) {
                number(entity, next);
            }
            let writes = self.writes(key, &taking, entities);
            let writes = writes.map_err(|error| first_error(&mut lost, error))?;
            let intents = writes.intents.clone();
            let error = match self.commit(key, writes).await {
                Ok(etag) => {
                    let numbers = taking.numbers.clone();
                    self.shared().known = Some(taking.written(etag));
                    return Ok(numbers);
                }
                Err(error) => error,
            };
            let is_lost = matches!(error, Error::Ambiguous(_) | Error::Unavailable(_));
            if !is_lost && !Self::is_lost_race(&error, key) {
                return Err(first_error(&mut lost, error));
            }
            // A version that was kept may be an old one: a read shows it, without a wait.
            in_time = was_kept && !is_lost || attempts.next().await;
            if is_lost {
                lost.push(Lost { taking, intents, error });
            } else if !in_time && lost.is_empty() {
                return Err(error);
            }
            permit.iter().for_each(Permit::goes_on);
        }
    }

    /// Checks that entities of the type are stored in the sequence's table.
    fn check_table<E: TableEntity>(&self) -> Result<(), TransactionError> {
        match self.table {
            Some(expected) if !expected.eq_ignore_ascii_case(E::TABLE) => {
                let (entity, found) = (E::NAME, E::TABLE);
                Err(TransactionError::OtherTable { entity, expected, found })
            }
            _ => Ok(()),
        }
    }

    /// The transaction that takes the numbers and inserts the entities.
    fn writes<E: TableEntity>(
        &self,
        key: &CanonicalKey,
        taking: &Taking,
        entities: &[E],
    ) -> Result<Writes<'static>> {
        const { has_one_form::<E>() };
        let partition_key = Ok(key.partition_key.clone());
        let mut writes = Writes::in_partition(self.client.clone(), E::TABLE, partition_key);
        // It is first: a race that is lost is noticed before a number that is taken.
        writes.single(self.client.context, taking.operation(key)?);
        for entity in entities {
            writes.rows(entity, insert_all);
        }
        Ok(writes)
    }

    /// Sends it. Returns the new version of the sequence's row.
    async fn commit(&self, key: &CanonicalKey, writes: Writes<'_>) -> Result<ETag> {
        let etag = writes.commit().await?.into_iter().next().flatten();
        self.client.version(key, etag)
    }
}

/// Finds out what became of the lost writes: the numbers, and what is to be settled, if one took effect; an
/// error if that is not known.
/// Keeps those that may still take effect. All are under one version, so one that took effect excludes the
/// others.
fn judge(lost: &mut Vec<Lost>, version: &Version) -> Option<Result<(Range<u64>, Intents)>> {
    let mut unknown = None;
    for Lost { taking, intents, error } in mem::take(lost) {
        match taking.shown_by(version) {
            Shown::TookEffect => return Some(Ok((taking.numbers, intents))),
            Shown::Unknown => unknown = Some(Err(error)),
            Shown::MayFollow => lost.push(Lost { taking, intents, error }),
            Shown::NoEffect => {}
        }
    }
    unknown
}

/// The error of a call: while a lost write may still take effect, that write's.
fn first_error(lost: &mut Vec<Lost>, error: Error) -> Error {
    lost.pop().map_or(error, |lost| lost.error)
}
