//! The writes of entities that a transaction collects.

use super::required::Required;
use super::writes::{Writes, Written, complete, requirement};
use crate::entity::{
    AsLoaded, EntityRows, InvalidEntity, Loaded, TableEntity, merges_blind, patches_blind,
    writes_blind,
};
use crate::error::TransactionError;
use crate::eventual::{Intents, delete_batch};
use crate::key::KeyError;
use crate::model::ETag;
use crate::plan::{TableClient, merge_all};
use crate::query::KeyRange;
use crate::repo::fault::Fault;
use crate::repo::patch::Patch;
use crate::repo::save::prepare;
use crate::store::{Action, Batch, IfMatch, Operation};

impl<'a> Writes<'a> {
    /// Adds the rows of an entity.
    pub fn rows<E: TableEntity>(&mut self, entity: &E, operations: fn(EntityRows) -> Batch) {
        match EntityRows::of_in(entity, &self.client.table) {
            Ok(rows) => {
                // Of a type with rows in other partitions, only an insert writes without a read.
                self.due(|intents, client| {
                    intents.add::<E>(client, &rows.partition_key, None, rows.canonical())
                });
                // The canonical row comes first.
                self.push::<E>(operations(rows), Ok(0), None);
            }
            Err(invalid) => self.fail(invalid),
        }
    }

    /// Adds a write that reads nothing, where the canonical key determines all row keys.
    pub fn blind<E: TableEntity>(&mut self, entity: &E, operations: fn(EntityRows) -> Batch) {
        if !writes_blind::<E>() {
            return self.fail(TransactionError::NotBlind(E::NAME));
        }
        self.rows(entity, operations);
    }

    /// Adds an insert or merge.
    pub fn insert_or_merge<E: TableEntity>(&mut self, entity: &E) {
        if !merges_blind::<E>() {
            return self.fail(TransactionError::NotBlind(E::NAME));
        }
        self.rows(entity, merge_all);
    }

    pub fn merge<E: TableEntity>(&mut self, keys: Result<KeyRange, KeyError>, patch: &Patch<E>) {
        if !patches_blind::<E>() {
            return self.fail(TransactionError::NotBlind(E::NAME));
        }
        let operation = || {
            let (partition_key, row_key) = complete(keys?);
            let action = Action::Merge(patch.body(&partition_key, &row_key)?, IfMatch::Any);
            let operations = vec![Operation { row_key, action }];
            Ok::<_, Fault>(Batch { partition_key, operations })
        };
        match operation() {
            Ok(batch) => self.push::<E>(batch, Ok(0), None),
            Err(fault) => self.fail(fault),
        }
    }

    pub fn save<E: TableEntity + 'a>(&mut self, mut loaded: impl AsLoaded<E> + Send + 'a) {
        match prepare(&self.client.table, loaded.loaded()) {
            Ok((batch, rows)) => {
                let row = rows.canonical().cloned();
                if !batch.operations.is_empty() {
                    let old = loaded.loaded();
                    self.due(|intents, client| intents.add_loaded(client, old, row.as_ref()));
                }
                let written = row.as_ref().and_then(|row| batch.last_on(&row.row_key));
                let version = written.ok_or_else(|| Some(loaded.loaded().etag().clone()));
                let take_over = move |etag| {
                    if let Some(row) = row {
                        loaded.loaded_mut().written(row.body, etag);
                    }
                };
                self.push::<E>(batch, version, Some(Box::new(take_over)));
            }
            Err(fault) => self.fail(fault),
        }
    }

    pub fn delete<E: TableEntity>(&mut self, loaded: &Loaded<E>) {
        match delete_batch(loaded) {
            Ok(batch) => {
                self.due(|intents, client| intents.add_loaded(client, loaded, None));
                self.push::<E>(batch, Err(None), None);
            }
            Err(invalid) => self.fail(invalid),
        }
    }

    /// Requires the version of a loaded entity, which takes over the new one.
    pub fn require<E: TableEntity>(&mut self, mut loaded: impl Required<E> + Send + 'a) {
        match required(loaded.entity()) {
            Ok(batch) => {
                let written = Box::new(move |etag| loaded.take_version(etag));
                self.extend::<E>(batch, true, Ok(0), Some(written));
            }
            Err(invalid) => self.fail(invalid),
        }
    }

    /// Requires the version of a loaded entity.
    pub fn require_once<E: TableEntity>(&mut self, loaded: &Loaded<E>) {
        match required(loaded) {
            Ok(batch) => self.extend::<E>(batch, true, Ok(0), None),
            Err(invalid) => self.fail(invalid),
        }
    }

    /// Adds what a write makes due in other partitions.
    fn due(&mut self, add: impl FnOnce(&mut Intents, &TableClient) -> Result<(), InvalidEntity>) {
        if let Err(invalid) = add(&mut self.intents, &self.client) {
            self.fail(invalid);
        }
    }

    /// Adds the operations of an entity. `version` counts among them.
    fn push<E: TableEntity>(
        &mut self,
        new: Batch,
        version: Result<usize, Option<ETag>>,
        written: Option<Written<'a>>,
    ) {
        self.extend::<E>(new, false, version, written);
    }
}

/// The requirement that a loaded entity is unchanged.
fn required<E: TableEntity>(loaded: &Loaded<E>) -> Result<Batch, InvalidEntity> {
    let EntityRows { partition_key, rows } = loaded.stored_rows()?;
    // The canonical row comes first.
    let row_key = rows.into_iter().next().map(|row| row.row_key).unwrap_or_default();
    Ok(requirement(&partition_key, row_key, loaded.etag().clone())?)
}
