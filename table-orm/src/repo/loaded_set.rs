//! What a `load` found.

use crate::entity::{Loaded, ReadRow};
use crate::error::{Error, Result, RowCount};
use std::ops::Deref;

/// What a `load` found, in key order.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSet<E>(pub(crate) Vec<Loaded<E>>);

impl<E: ReadRow> LoadedSet<E> {
    /// The only entity.
    ///
    /// # Errors
    /// [`Error::RowCount`] when there is none, or more than one.
    pub fn one(self) -> Result<Loaded<E>> {
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
    pub fn optional(self) -> Result<Option<Loaded<E>>> {
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
