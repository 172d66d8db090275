//! Creates the table of a type.

use super::Repo;
use crate::entity::TableEntity;
use crate::error::{Error, Result, rejected};
use crate::plan::{TableClient, writing};
use crate::store::ErrorCode;

impl<E: TableEntity> Repo<E> {
    /// Creates the table: one request. [`create_all_tables`](Self::create_all_tables) also creates those that the
    /// type names with `table = ".."`.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when the table exists.
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
    /// // The table exists, and keeps its rows.
    /// assert!(matches!(notes.create_table().await, Err(Error::AlreadyExists(_))));
    /// notes.delete_table().await?;
    /// notes.create_table().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_table(&self) -> Result<()> {
        create_table(&self.client).await
    }

    /// Creates the table unless it exists: one request. Returns whether it was created. Returns `false`
    /// too when an answer was lost and a retry found the table.
    ///
    /// # Errors
    /// When the store cannot be reached, or is still deleting a table of that name.
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
    /// assert!(!notes.create_table_if_not_exists().await?);
    /// notes.delete_table().await?;
    /// assert!(notes.create_table_if_not_exists().await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_table_if_not_exists(&self) -> Result<bool> {
        create_table_if_not_exists(&self.client).await
    }
}

async fn create_table(client: &TableClient) -> Result<()> {
    let created = writing(client.store().create_table(&client.table)).await;
    created.map_err(|cause| rejected(client.table.as_str(), cause))
}

/// Creates a table unless it exists. Returns whether it was created.
pub(super) async fn create_table_if_not_exists(client: &TableClient) -> Result<bool> {
    unless_exists(create_table(client).await)
}

/// Whether a table was created that may have existed.
pub(crate) fn unless_exists(created: Result<()>) -> Result<bool> {
    match created {
        Ok(()) => Ok(true),
        Err(Error::AlreadyExists(_)) => Ok(false),
        // Another request of this call may have created it: its answer was lost.
        Err(Error::Ambiguous(lost))
            if *lost.cause.answer_code() == ErrorCode::TABLE_ALREADY_EXISTS =>
        {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
