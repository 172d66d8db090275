//! An entity with what `save` and `delete` need, in either form.

use super::old_place::OldEntity;
use super::parcel::Parcel;
use super::stored_form::StoredForm;
use crate::entity::Loaded;
use crate::model::ETag;
use crate::plan::CanonicalKey;
use std::ops::{Deref, DerefMut};

/// A loaded entity in either form, which can be changed and saved. Dereferences to the entity.
#[derive(Debug, Clone)]
pub struct MigratingLoaded<E> {
    pub(super) entity: E,
    /// Its new canonical key.
    pub(super) key: CanonicalKey,
    pub(super) stored: Stored<E>,
}

/// How it is stored.
#[derive(Debug, Clone)]
pub(super) enum Stored<E> {
    New(Box<Loaded<E>>),
    Old(Box<OldEntity<E>>),
    /// It waits in its parcel, because another entity has one of its index rows.
    Parcel(Box<Parcel<E>>),
    /// It was moved, and somebody else made its new rows: their version is not known.
    Moved,
}

impl<E> MigratingLoaded<E> {
    /// The form in which it was read or saved last.
    pub const fn form(&self) -> StoredForm {
        match self.stored {
            Stored::Old(_) => StoredForm::Old,
            Stored::New(_) | Stored::Parcel(_) | Stored::Moved => StoredForm::New,
        }
    }

    /// The version of its canonical row, in the form in which it is stored, for
    /// [`if_match`](super::MigratingMerge::if_match). `None` where it was moved by a save and another client made its new
    /// rows: load it again. `None`, too, where it waits for an index row that another entity has.
    #[must_use]
    pub const fn etag(&self) -> Option<&ETag> {
        match &self.stored {
            Stored::New(loaded) => Some(loaded.etag()),
            Stored::Old(old) => Some(&old.etag),
            Stored::Parcel(_) | Stored::Moved => None,
        }
    }

    /// Returns the entity alone.
    #[must_use]
    pub fn into_inner(self) -> E {
        self.entity
    }
}

impl<E> Deref for MigratingLoaded<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entity
    }
}

impl<E> DerefMut for MigratingLoaded<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.entity
    }
}
