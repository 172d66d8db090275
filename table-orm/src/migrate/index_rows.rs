//! Index rows whose key two entities may share.
//!
//! Invariant: an entity leaves its old key only if no other entity was seen under the keys of its index rows. The landing
//! inserts each of them, so it replaces none that came later.

use super::determined_key::{determine, row_template};
use super::migrates::Migrates;
use super::migrating::Migrating;
use crate::entity::{EntityRows, TableEntity, canonical, is_alive};
use crate::error::Result;

/// Whether two entities of the type may write one key of an index row: it lacks a field of the canonical key.
const fn may_share<E: TableEntity>(index: usize) -> bool {
    index != canonical::<E>()
        && index < E::ROWS.len()
        && !determine(&[E::PARTITION_KEY, E::ROWS[index].template()], &row_template::<E>())
}

/// Whether the new type has such an index row.
pub(super) const fn may_share_index_rows<E: Migrates>() -> bool {
    let mut index = 0;
    while index < E::ROWS.len() {
        if may_share::<E>(index) {
            return true;
        }
        index += 1;
    }
    false
}

impl<E: Migrates> Migrating<E> {
    /// Looks for other entities under the keys of such index rows: a point read for each. An entity that has expired makes
    /// room.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) when another entity has one of these keys.
    pub(super) async fn check_index_rows(&self, rows: &EntityRows) -> Result<()> {
        let client = &self.new.client;
        let now = Some(client.connection.clock.now());
        for row in rows.rows.iter().filter(|row| may_share::<E>(row.index)) {
            let stored = client.annotated_row(&rows.partition_key, &row.row_key).await?;
            if stored.is_some_and(|stored| is_alive::<E>(&stored.body, now)) {
                return Err(client.already_exists(&rows.partition_key, &row.row_key));
            }
        }
        Ok(())
    }
}
