//! An entity with what `save` needs: its stored row and its version.

use super::{InvalidEntity, ReadBackError, TableEntity};
use crate::entity::{EntityRows, Row, read_entity, read_row};
use crate::model::ETag;
use crate::property::PropertyError;
use bytes::Bytes;
use std::ops::{Deref, DerefMut};

/// A loaded entity, which can be changed and saved.
///
/// Dereferences to the entity. It keeps the canonical row as it was stored, from which `save`
/// determines the index rows to move, and the ETag that guards them.
///
/// Two are equal when their entities and versions are.
#[derive(Debug, Clone)]
pub struct Loaded<E> {
    entity: E,
    stored: Bytes,
    etag: ETag,
}

impl<E: TableEntity> Loaded<E> {
    /// Reads a canonical row, and checks that it is under the entity's key. `None` for a row of
    /// another type.
    pub(crate) fn read(stored: Bytes, etag: Option<ETag>) -> Result<Option<Self>, ReadBackError> {
        let read = read_entity::<E::Canonical, E>(&stored, etag.as_ref())?;
        let Some((entity, row)) = read else { return Ok(None) };
        let etag = row.etag();
        Ok(Some(Self { entity, etag, stored }))
    }

    /// An entity as it will be read from these rows, before they are written: without a version.
    pub(crate) fn of_rows(rows: &EntityRows) -> Result<Self, PropertyError> {
        let stored = rows.canonical().map(|row| row.body.clone()).unwrap_or_default();
        let entity = read_row::<E>(<E::Canonical as Row>::INDEX, &stored)?;
        Ok(Self { entity, stored, etag: ETag::new("") })
    }

    /// The canonical row as it was stored.
    pub(crate) const fn stored(&self) -> &Bytes {
        &self.stored
    }

    /// The rows that were stored when it was loaded.
    pub(crate) fn stored_rows(&self) -> Result<EntityRows, InvalidEntity> {
        EntityRows::of_stored(&self.as_stored()?)
    }

    /// The entity as it was stored when it was loaded.
    pub(crate) fn as_stored(&self) -> Result<E, PropertyError> {
        read_row::<E>(<E::Canonical as Row>::INDEX, &self.stored)
    }

    /// Sets the stored row and the version after a write. A write that changed nothing was not
    /// sent, and keeps the version.
    pub(crate) fn written(&mut self, stored: Bytes, etag: ETag) {
        self.stored = stored;
        if self.etag != etag {
            self.entity.set_version(&etag);
            self.etag = etag;
        }
    }
}

impl<E> Loaded<E> {
    /// The version that `save` and `delete` require of the stored row.
    #[must_use]
    pub const fn etag(&self) -> &ETag {
        &self.etag
    }

    /// The entity alone.
    #[must_use]
    pub fn into_inner(self) -> E {
        self.entity
    }
}

impl<E: PartialEq> PartialEq for Loaded<E> {
    fn eq(&self, other: &Self) -> bool {
        self.entity == other.entity && self.etag == other.etag
    }
}

impl<E> Deref for Loaded<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entity
    }
}

impl<E> DerefMut for Loaded<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.entity
    }
}

/// A loaded entity, or a mutable reference to one: what `save` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` was not loaded",
    label = "not a loaded entity",
    note = "`save` takes one entity of a `load`, as `load(..).await?.one()?` returns it, or `&mut` of it; \
            write a new entity with `insert`, `upsert` or `force_replace`"
)]
pub trait AsLoaded<E> {
    /// The loaded entity.
    fn loaded(&self) -> &Loaded<E>;
    /// The loaded entity, to take over its new version.
    fn loaded_mut(&mut self) -> &mut Loaded<E>;
}

#[diagnostic::do_not_recommend]
impl<E> AsLoaded<E> for Loaded<E> {
    fn loaded(&self) -> &Self {
        self
    }

    fn loaded_mut(&mut self) -> &mut Self {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E> AsLoaded<E> for &mut Loaded<E> {
    fn loaded(&self) -> &Loaded<E> {
        self
    }

    fn loaded_mut(&mut self) -> &mut Loaded<E> {
        self
    }
}
