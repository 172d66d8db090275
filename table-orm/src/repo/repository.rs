//! The entities of one type in one table.

use crate::entity::TableEntity;
use crate::eventual::ExpiringType;
use crate::model::TableName;
use crate::plan::{Connection, TableClient};
use std::marker::PhantomData;
use std::sync::Arc;

/// The entities of type `E` in one table. Cheap to clone.
///
/// A call returns a value that sends nothing by itself. `.await` or a last method sends it, `.plan()`
/// shows what it will send.
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
/// let note = Note { owner: "ann".into(), id: 1, text: "milk".into() };
/// let insert = notes.insert(&note);
/// assert!(insert.plan()?.to_string().starts_with("insert on `notes`"));
/// insert.await?;
///
/// let key = Note::partition("ann").row().id(1);
/// assert_eq!(notes.get(key).await?, Some(note));
/// # Ok(())
/// # }
/// ```
///
/// Writes replace whole rows, except [`merge`](Self::merge) and
/// [`insert_or_merge`](Self::insert_or_merge). The next `save`, `update`, `upsert` or `replace` removes
/// properties that `E` does not know, such as those of a newer version of the app or of another tool.
/// Index rows that only a newer version knows are not kept in step. See
/// [two versions at once](crate::guide::run::versions#two-versions-at-once).
#[derive(Debug)]
pub struct Repo<E> {
    pub(crate) client: TableClient,
    pub(super) entity: PhantomData<fn() -> E>,
}

impl<E> Clone for Repo<E> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), entity: PhantomData }
    }
}

impl<E: TableEntity> Repo<E> {
    pub(crate) fn new(connection: Arc<Connection>, table: TableName) -> Self {
        let mut client = TableClient::new::<E>(connection, table);
        client.expiry.add(ExpiringType::of::<E>());
        Self { client, entity: PhantomData }
    }

    /// Returns the name of the table.
    ///
    /// ```
    /// # use table_orm::{TableEntity, TableName, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// assert_eq!(notes.table().as_str(), "notes");
    /// let archive = Tables::in_memory()?.repo_in::<Note>(TableName::new("notes2024")?);
    /// assert_eq!(archive.table().as_str(), "notes2024");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn table(&self) -> &TableName {
        &self.client.table
    }
}
