//! Creates each table that a type has rows in.

use super::Repo;
use super::create_table::create_table_if_not_exists;
use super::delete_table::other_tables;
use crate::entity::TableEntity;
use crate::error::Result;

impl<E: TableEntity> Repo<E> {
    /// Creates the table, and those that `eventual` rows and `unique(.., across)` name with `table = ".."`: one
    /// request for each. Leaves those that exist.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
    /// #[row(by_room, table = "rooms", partition = "{room}", key = "USER:{user}", eventual)]
    /// struct Member { user: String, room: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// let tables = Tables::in_memory()?;
    /// tables.repo::<Member>().create_all_tables().await?;
    /// assert_eq!(tables.list().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`create_table_if_not_exists`](Self::create_table_if_not_exists). Tables that were created before the error
    /// stay.
    pub async fn create_all_tables(&self) -> Result<()> {
        self.create_table_if_not_exists().await?;
        for table in other_tables::<E>(self.table()) {
            create_table_if_not_exists(&self.client.in_table(&table)).await?;
        }
        Ok(())
    }
}
