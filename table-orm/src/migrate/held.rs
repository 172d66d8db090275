//! An entity with what `save` and `delete` need, in either form.

use super::form::Form;
use super::old_place::OldEntity;
use crate::entity::Loaded;
use crate::plan::CanonicalKey;
use std::ops::{Deref, DerefMut};

/// A loaded entity in either form, which can be changed and saved. Dereferences to the entity.
#[derive(Debug, Clone)]
pub struct Held<E> {
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
    /// It was moved, and somebody else made its new rows: their version is not known.
    Moved,
}

impl<E> Held<E> {
    /// The form in which it was read or saved last.
    pub const fn form(&self) -> Form {
        match self.stored {
            Stored::Old(_) => Form::Old,
            Stored::New(_) | Stored::Moved => Form::New,
        }
    }

    /// Returns the entity alone.
    #[must_use]
    pub fn into_inner(self) -> E {
        self.entity
    }
}

impl<E> Deref for Held<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.entity
    }
}

impl<E> DerefMut for Held<E> {
    fn deref_mut(&mut self) -> &mut E {
        &mut self.entity
    }
}
