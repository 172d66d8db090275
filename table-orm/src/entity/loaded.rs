//! An entity with what is needed to write it back: its stored row and its version.

use super::{ETag, TableEntity};
use crate::error::{Error, RowCount};
use crate::query::Row;
use crate::row::{EntityRows, ReadRow, read_entity, read_row};
use bytes::Bytes;
use std::ops::{Deref, DerefMut};

/// An entity as it was loaded, to be changed and saved.
///
/// Dereferences to the entity. Beside it stand the canonical row as it is stored, from which
/// `save` finds the index rows to move, and the ETag that guards them.
///
/// Two are equal when their entities and versions are.
#[derive(Debug, Clone)]
pub struct Loaded<E> {
    entity: E,
    stored: Bytes,
    etag: ETag,
}

impl<E: TableEntity> Loaded<E> {
    /// Reads a canonical row, which stands under the entity's key.
    pub(crate) fn read(stored: Bytes, etag: Option<ETag>) -> Result<Self, Error> {
        let row = <E::Canonical as Row>::INDEX;
        let (entity, etag) = read_entity::<E>(row, &stored, etag.as_ref())?;
        Ok(Self { entity, stored, etag })
    }

    /// The canonical row as it was stored.
    pub(crate) const fn stored(&self) -> &Bytes {
        &self.stored
    }

    /// The rows that were stored when it was loaded.
    pub(crate) fn stored_rows(&self) -> Result<EntityRows, Error> {
        let stored = read_row::<E>(<E::Canonical as Row>::INDEX, &self.stored)?;
        Ok(EntityRows::of(&stored)?)
    }

    /// Takes over what a write has stored. One that changed nothing was not sent, and the version
    /// stays.
    pub(crate) fn written(&mut self, stored: Bytes, etag: ETag) {
        self.stored = stored;
        if self.etag != etag {
            self.entity.set_version(&etag);
            self.etag = etag;
        }
    }
}

impl<E> Loaded<E> {
    /// The version that `save` and `delete` ask the store to find unchanged.
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
    note = "`save` takes what `load` gave, or `&mut` of it; an entity made by hand is written with \
            `insert`, `upsert` or `force_replace`"
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

/// What a `load` found, in key order.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSet<E>(pub(crate) Vec<Loaded<E>>);

impl<E: ReadRow> LoadedSet<E> {
    /// The only entity.
    ///
    /// # Errors
    /// [`Error::RowCount`] when there is none, or more than one.
    pub fn one(self) -> Result<Loaded<E>, Error> {
        let found = self.0.len().min(2);
        let mut entities = self.0.into_iter();
        match (entities.next(), found) {
            (Some(entity), 1) => Ok(entity),
            _ => Err(Error::RowCount(RowCount { entity: E::NAME, found })),
        }
    }

    /// The only entity, or `None`.
    ///
    /// # Errors
    /// [`Error::RowCount`] when there is more than one.
    pub fn optional(self) -> Result<Option<Loaded<E>>, Error> {
        if self.0.is_empty() { Ok(None) } else { self.one().map(Some) }
    }
}

impl<E> LoadedSet<E> {
    /// All of them.
    #[must_use]
    pub fn into_vec(self) -> Vec<Loaded<E>> {
        self.0
    }
}

impl<E> Deref for LoadedSet<E> {
    type Target = [Loaded<E>];

    fn deref(&self) -> &[Loaded<E>] {
        &self.0
    }
}

impl<E> IntoIterator for LoadedSet<E> {
    type Item = Loaded<E>;
    type IntoIter = std::vec::IntoIter<Loaded<E>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
