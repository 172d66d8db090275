//! Values that are unique over all partitions, of entities in two forms.
//!
//! A value has one guard, which names the entity by its old key or by its new one. Whoever reads it follows the marker that
//! is under the old key, so the guard goes on naming that key after a move, until the marker is deleted.
//!
//! Invariants:
//! - The two types keep the guards in one table, and write each value alike.
//! - A guard that names a new key was written when no entity was under the old key any more.

use super::migrates::Migrates;
use super::passes::is_in_partition_of;
use crate::entity::{GuardTemplate, Loaded, OwnRows, TableEntity, across_keys};
use crate::error::{MigrationError, Result};
use crate::key::KeyError;
use crate::model::TableName;
use crate::plan::{OtherForm, TableClient};
use std::sync::Arc;

/// How the entities of a form are read by who has a client of the other one.
pub(super) fn other_form<T: TableEntity>(client: &TableClient) -> Arc<OtherForm> {
    Arc::new(OtherForm {
        client: TableClient { other_form: None, ..client.clone() },
        metadata: T::METADATA,
        takes: |key| {
            is_in_partition_of::<T>(key) && OwnRows::canonical::<T>().takes_key(&key.row_key)
        },
        guard_keys: |row| match Loaded::<T>::read(row.body, row.header)? {
            Some(entity) => Ok(Some(guard_keys(&*entity)?)),
            None => Ok(None),
        },
    })
}

fn guard_keys<T: TableEntity>(entity: &T) -> Result<Vec<String>, KeyError> {
    Ok(across_keys(entity)?.into_iter().map(|(_, key)| key).collect())
}

/// Fails where the guards of one value would be in two tables.
pub(super) fn check_guard_tables<E: Migrates>(
    old: &TableName,
    new: &TableName,
) -> Result<(), MigrationError> {
    let table = |guards: &[GuardTemplate], at: usize, home| guards[at].table_of(home);
    for (at, guard) in E::GUARDS.iter().enumerate().filter(|(_, guard)| guard.across) {
        let (old, new) = (table(E::Old::GUARDS, at, old), table(E::GUARDS, at, new));
        if !old.is(&new) {
            let (entity, unique) = (E::NAME, guard.name);
            let (old, new) = (old.to_string(), new.to_string());
            return Err(MigrationError::GuardTables { entity, unique, old, new });
        }
    }
    Ok(())
}
