//! Events of entities whose keys change.
//!
//! Invariant: a write adds its event in the form in which it finds the entity, or inserts it. A save that moves an entity
//! changes it in its old form: the event is in the transaction that replaces the old row. Where it changes a value that
//! is unique over all partitions, it moves the entity first, and changes it in its new form. A move as such adds none.

use super::large_values::is_as_read;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::OldEntity;
use crate::entity::{EntityRows, canonical, read_row};
use crate::error::Result;
use crate::plan::TableClient;
use crate::repo::Register;

impl<E: Migrates> Migrating<E> {
    /// Registers the writes to the new form's table from now on, as [`Repo::register`](crate::Repo::register) does. Another
    /// table of the old form has a register of its own.
    pub fn register(&self) -> Register<E> {
        self.new.register()
    }

    /// The client of a transaction that moves an entity, which has these rows then. Its event is that of the old form.
    pub(super) fn reporting(
        &self,
        client: &TableClient,
        old: &OldEntity<E>,
        rows: &EntityRows,
    ) -> Result<TableClient> {
        let mut client = client.unreported();
        let reported = &self.old.client.reported;
        if reported.is_empty() || is_as_read::<E>(&old.rows, rows)? {
            return Ok(client);
        }
        let row = rows.canonical().map(|row| &*row.body).unwrap_or_default();
        let entity = E::Old::from(read_row::<E>(canonical::<E>(), row)?);
        let written = EntityRows::of(&entity)?;
        let row = written.canonical().map(|row| (row.row_key.clone(), row.body.clone()));
        client.reported.clone_from(reported);
        client.event_row = row;
        Ok(client)
    }
}
