//! Guards of unique values that name the old key of an entity, before its marker is deleted.
//!
//! Invariant: no marker is deleted before each guard of the entity that left it was seen to name its new key, or another
//! entity. From its marker on, the entity gets a value only with a guard that names its new key.

use super::migrates::Migrates;
use super::migrating::Migrating;
use crate::entity::{Marker, has_across};
use crate::error::{Error, Result};
use crate::eventual::{EventualType, Guards, Home, MAX_GUARD_READS, UniqueValue};
use crate::plan::CanonicalKey;

impl<E: Migrates> Migrating<E> {
    /// Lets the guards of the entity that left a marker under that old key name its new one. It takes a point read of the
    /// entity, and for each of its values one of the guard, and a write if that names the old key.
    pub(super) async fn rename_guards(&self, marker: &Marker, old: &CanonicalKey) -> Result<()> {
        // No entity left the marker of an insert.
        let Some(row_key) = marker.row_key.clone().filter(|_| has_across::<E>()) else {
            return Ok(());
        };
        let guards = Guards { home: self.new.client.clone(), kind: EventualType::of::<E>() };
        let new = guards.entity(&marker.partition_key, &row_key);
        let old = Home { table: self.old.table().clone(), key: old.clone() };
        for value in guards.values(&new).await? {
            rename(&guards, &value, &old, &new).await?;
        }
        Ok(())
    }

    /// The most requests that this takes for a marker.
    pub(super) fn most_renames(marker: &Marker) -> u64 {
        let values = E::GUARDS.iter().filter(|guard| guard.across).count() as u64;
        if marker.row_key.is_some() && values > 0 { 1 + 2 * values } else { 0 }
    }
}

/// Replaces the guard of a value, if it names the old key, or one that the entity left before. Its ticket is gone: the
/// entity has the value.
async fn rename(guards: &Guards, value: &UniqueValue, old: &Home, new: &Home) -> Result<()> {
    for _ in 0..MAX_GUARD_READS {
        let Some(guard) = guards.get(value).await? else { return Ok(()) };
        let is_old = guard.names(old)
            // An earlier migration left its markers, too.
            || (!guard.names(new)
                && guards.left(&guard.home).await?.is_some_and(|home| home.is(old)));
        if !is_old {
            return Ok(());
        }
        match guards.set(value, new, &guard.ticket, Some(&guard)).await {
            Ok(()) => return Ok(()),
            Err(Error::Conflict(_) | Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Err(guards.contended(value))
}
