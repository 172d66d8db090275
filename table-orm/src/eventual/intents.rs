//! The intents that one transaction inserts beside the rows it writes.
//!
//! Invariants:
//! - A transaction that changes no row elsewhere inserts no intent.
//! - What is due follows from the canonical rows as they were and as they will be stored.

use super::foreign_rows::ForeignRows;
use super::foreign_type::ForeignType;
use super::intent::{DueEntry, Intent, Pending};
use super::settled::Settling;
use crate::entity::{EntityRow, Invalid, Loaded, TableEntity, canonical, read_row};
use crate::error::Result;
use crate::model::ETag;
use crate::plan::{Plan, Step, TableClient};
use crate::store::Batch;
use std::collections::BTreeSet;

/// The intents of one transaction: one for each entity type whose rows elsewhere change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Intents(Vec<(ForeignType, Intent)>);

impl Intents {
    /// Adds what the write of one entity makes due: the canonical row before and after.
    pub fn add<E: TableEntity>(
        &mut self,
        client: &TableClient,
        partition_key: &str,
        old: Option<&EntityRow>,
        new: Option<&EntityRow>,
    ) -> Result<(), Invalid> {
        if E::FOREIGN.is_empty() {
            return Ok(());
        }
        let rows = |row: Option<&EntityRow>| match row {
            Some(row) => {
                let entity = read_row::<E>(canonical::<E>(), &row.body)?;
                ForeignRows::of(&client.table, &entity)
            }
            None => Ok(ForeignRows::default()),
        };
        let (before, after, none) = (rows(old)?, rows(new)?, ForeignRows::default());
        let entries = match (old, new) {
            (Some(old), Some(new)) if old.row_key != new.row_key => [
                DueEntry::of(&old.row_key, &before, &none),
                DueEntry::of(&new.row_key, &none, &after),
            ],
            (Some(row), _) | (None, Some(row)) => {
                [DueEntry::of(&row.row_key, &before, &after), None]
            }
            (None, None) => [None, None],
        };
        for entry in entries.into_iter().flatten() {
            self.intent::<E>(client, partition_key).due.push(entry);
        }
        Ok(())
    }

    /// Adds what the write of a loaded entity makes due.
    pub fn add_loaded<E: TableEntity>(
        &mut self,
        client: &TableClient,
        loaded: &Loaded<E>,
        new: Option<&EntityRow>,
    ) -> Result<(), Invalid> {
        if E::FOREIGN.is_empty() {
            return Ok(());
        }
        let rows = loaded.stored_rows()?;
        let old =
            rows.canonical().map(|row| EntityRow { body: loaded.stored().clone(), ..row.clone() });
        self.add::<E>(client, &rows.partition_key, old.as_ref(), new)
    }

    fn intent<E: TableEntity>(&mut self, client: &TableClient, partition_key: &str) -> &mut Intent {
        let kind = ForeignType::of::<E>();
        let place = self.0.iter().position(|(other, _)| other.entity == kind.entity);
        let place = place.unwrap_or_else(|| {
            let random = &client.connection.random;
            self.0.push((kind, Intent::new(random, partition_key, Vec::new())));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    /// How many operations they add.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends their inserts to the transaction.
    ///
    /// # Errors
    /// [`Error::TooLarge`](crate::Error::TooLarge) when one has more than 1 MiB.
    pub fn append_to(&self, client: &TableClient, batch: &mut Batch) -> Result<()> {
        for (kind, intent) in &self.0 {
            batch.operations.push(intent.insert(client, *kind)?);
        }
        Ok(())
    }

    /// The plan of a transaction and of what settles it.
    pub fn plan(&self, transaction: Option<Step>) -> Plan {
        let due = self.0.iter().flat_map(|(_, intent)| &intent.due);
        let keys = due.flat_map(|entry| &entry.keys);
        let partitions: BTreeSet<_> =
            keys.map(|(_, key)| (key.table.clone(), key.partition_key.clone())).collect();
        let partitions: Vec<_> = partitions.into_iter().collect();
        let settle = (!partitions.is_empty()).then(|| Step::Settle { partitions });
        Plan { steps: transaction.into_iter().chain(settle).collect() }
    }

    /// Settles them after the transaction took effect. `etags` are those of its operations.
    pub async fn settle(self, client: &TableClient, etags: &[Option<ETag>], settling: &Settling) {
        let first = etags.len().saturating_sub(self.0.len());
        let inserted = etags[first..].iter().cloned();
        let pending: Option<Vec<_>> = self
            .0
            .into_iter()
            .zip(inserted)
            .map(|((kind, intent), etag)| {
                Some((kind, Pending { intent, etag: etag?, written: None }))
            })
            .collect();
        // Without its version, an intent is left to a sweep.
        if let Some(pending) = pending {
            settling.settle(client, pending).await;
        }
    }
}

/// The plan of a write that reads first, and of what settles it: the answer decides which rows are due.
pub(crate) fn plan_with_settling<E: TableEntity>(mut plan: Plan) -> Plan {
    if !E::FOREIGN.is_empty() {
        plan.steps.push(Step::Settle { partitions: Vec::new() });
    }
    plan
}
