//! The entities that a load found.

use crate::entity::{Loaded, ReadRow};
use crate::error::{Error, Result, RowCount};
use std::ops::Deref;

/// The entities that a load found, in key order.
///
/// Dereferences to a slice, and iterates over the entities.
///
/// ```
/// # use table_orm::{Error, TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
/// # struct Note { owner: String, id: u32, text: String }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let notes = Tables::in_memory()?.repo::<Note>();
/// # notes.create_table().await?;
/// # for id in [1, 2] {
/// #     notes.insert(&Note { owner: "ann".into(), id, text: "milk".into() }).await?;
/// # }
/// let ann = Note::partition("ann");
/// let set = notes.load(&ann).await?;
/// assert_eq!(set.len(), 2);
/// assert!(matches!(set.one(), Err(Error::RowCount(_))));
/// assert_eq!(notes.load(ann.row().id(2)).await?.one()?.id, 2);
/// assert!(notes.load(ann.row().id(3)).await?.optional()?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSet<E>(pub(crate) Vec<Loaded<E>>);

impl<E: ReadRow> LoadedSet<E> {
    /// Returns the only entity.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// notes.insert(&Note { owner: "ann".into(), id: 1, text: "milk".into() }).await?;
    /// let mut note = notes.load(Note::partition("ann")).await?.one()?;
    /// note.text = "bread".into();
    /// notes.save(note).await?;
    /// assert_eq!(notes.list(Note::partition("ann")).one().await?.text, "bread");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::RowCount`] when the load found no entity, or more than one.
    pub fn one(self) -> Result<Loaded<E>> {
        let found = self.0.len().min(2);
        let mut entities = self.0.into_iter();
        match (entities.next(), found) {
            (Some(entity), 1) => Ok(entity),
            _ => Err(Error::RowCount(RowCount { entity: E::NAME, found })),
        }
    }

    /// Returns the only entity, or `None` when the load found no entity.
    ///
    /// # Errors
    /// [`Error::RowCount`] when the load found more than one.
    pub fn optional(self) -> Result<Option<Loaded<E>>> {
        if self.0.is_empty() { Ok(None) } else { self.one().map(Some) }
    }
}

impl<E> LoadedSet<E> {
    /// Returns all entities.
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
