//! A transaction of rows whose types are not known.

use super::writes::{Room, Writes};
use crate::entity::DynamicEntity;
#[cfg(doc)]
use crate::error::Error;
use crate::error::{Result, TransactionError};
use crate::model::ETag;
use crate::plan::Plan;
use crate::property::PropertyError;
use crate::repo::Table;
use crate::repo::table::condition;
use crate::store::{Action, Operation};
use bytes::Bytes;

/// Writes of rows of one partition that take effect together or not at all: one request.
///
/// Each call adds one operation. If a call breaks a rule, [`commit`](Self::commit) and [`plan`](Self::plan)
/// fail with the first such error. The service takes at most 100 operations and 4 MiB in one transaction, and
/// one operation for each row.
///
/// ```
/// # use table_orm::{DynamicEntity, TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let name = TableName::new("songs")?;
/// # tables.create(&name).await?;
/// # let songs = tables.table(name);
/// songs.insert(&DynamicEntity::new("Blue", "02").with("Title", "Carey")).await?;
/// let stored = songs.get("Blue", "02").await?.unwrap();
/// // Moves the row to another key: both writes, or no write.
/// let moved = DynamicEntity { row_key: "04".into(), etag: None, ..stored.clone() };
/// let etags = songs.transaction("Blue").delete(&stored).insert(&moved).commit().await?;
/// assert!(etags[0].is_none() && etags[1].is_some());
/// assert_eq!(songs.list("Blue", ..).one().await?.row_key, "04");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `commit`"]
#[derive(Debug)]
pub struct TableTransaction(Writes<'static>);

impl Table {
    /// Starts a transaction: writes of several rows of one partition, all or none.
    ///
    /// As all untyped calls, it does not keep index rows in step. Entities of known types are written through
    /// [`Tables::transaction`](crate::Tables::transaction).
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// let blue = tables.table(name).transaction("Blue");
    /// let both = blue.insert(&DynamicEntity::new("Blue", "01")).insert(&DynamicEntity::new("Blue", "02"));
    /// assert_eq!(both.commit().await?.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction(&self, partition_key: impl Into<String>) -> TableTransaction {
        let client = self.client.clone();
        let table = client.context.entity;
        TableTransaction(Writes::in_partition(client, table, Ok(partition_key.into())))
    }
}

impl TableTransaction {
    /// Inserts a row. It may not exist.
    pub fn insert(self, row: &DynamicEntity) -> Self {
        self.write(row, Action::Insert)
    }

    /// Inserts a row, or replaces the stored one. Properties that are not in `row` are removed.
    pub fn insert_or_replace(self, row: &DynamicEntity) -> Self {
        self.write(row, Action::InsertOrReplace)
    }

    /// Inserts a row, or sets its properties in the stored one. Other properties keep their stored values.
    pub fn insert_or_merge(self, row: &DynamicEntity) -> Self {
        self.write(row, Action::InsertOrMerge)
    }

    /// Replaces a row in the version of its `etag`, or in any version when that is `None`. It must exist.
    pub fn replace(self, row: &DynamicEntity) -> Self {
        self.write(row, |body| Action::Replace(body, condition(row)))
    }

    /// Sets the properties of `row` in the stored row, in the version of its `etag`, or in any version when that
    /// is `None`. It must exist. Other properties keep their stored values.
    ///
    /// A row without properties and with an `etag` changes nothing but the version: it requires that the row is
    /// unchanged.
    pub fn merge(self, row: &DynamicEntity) -> Self {
        self.write(row, |body| Action::Merge(body, condition(row)))
    }

    /// Deletes a row in the version of its `etag`, or in any version when that is `None`. It must exist.
    pub fn delete(self, row: &DynamicEntity) -> Self {
        self.add(row, Ok(Action::Delete(condition(row))))
    }

    /// Returns the number of its operations: one for each call, at most 100.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether it has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns what still fits: operations, and bytes of the request as bulk writes count them.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// let blue = tables.table(name).transaction("Blue").insert(&DynamicEntity::new("Blue", "01"));
    /// assert_eq!(blue.room().operations, 99);
    /// assert!(blue.room().bytes < 4 * 1024 * 1024);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn room(&self) -> Room {
        self.0.room()
    }

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// As [`commit`](Self::commit) before it sends anything, except for the size in bytes, which only the
    /// store knows.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let songs = Tables::in_memory()?.table(TableName::new("songs")?);
    /// let row = |key: &str| DynamicEntity::new("Blue", key);
    /// let plan = songs.transaction("Blue").insert(&row("01")).delete(&row("02")).plan()?;
    /// assert!(plan.to_string().starts_with("entity group transaction on `songs`"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn plan(&self) -> Result<Plan> {
        self.0.plan()
    }

    /// Sends the transaction: one request, or none without operations. Returns the ETag of each row in the order
    /// of the calls, `None` after a delete.
    ///
    /// # Errors
    /// - [`Error::Transaction`] when the calls break a rule, the error of a property that the service would
    ///   reject, and [`Error::TooLarge`] for more than 4 MiB. Nothing is sent.
    /// - The store's error, such as [`Error::Conflict`], [`Error::AlreadyExists`] or [`Error::NotFound`], with
    ///   the row and the operation that failed. Nothing is written, except that after [`Error::Ambiguous`], and
    ///   without a retry layer after [`Error::Unavailable`], it may have taken effect. It is not sent again.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, Error, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// let row = |key: &str| DynamicEntity::new("Blue", key);
    /// songs.insert(&row("02")).await?;
    /// let both = songs.transaction("Blue").insert(&row("01")).insert(&row("02")).commit().await;
    /// assert!(matches!(both, Err(Error::AlreadyExists(rejection)) if rejection.row_key == "02"));
    /// // The first row was not written either.
    /// assert!(songs.get("Blue", "01").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        self.0.check()?;
        let Writes { client, batch, .. } = self.0;
        client.send(batch).await
    }

    fn write(self, row: &DynamicEntity, action: impl FnOnce(Bytes) -> Action) -> Self {
        self.add(row, row.body().map(action))
    }

    fn add(mut self, row: &DynamicEntity, action: Result<Action, PropertyError>) -> Self {
        let DynamicEntity { partition_key, row_key, .. } = row;
        let entity = self.0.client.context.entity;
        let batch = &self.0.batch;
        if *partition_key != batch.partition_key {
            let (expected, found) = (batch.partition_key.clone(), partition_key.clone());
            self.0.fail(TransactionError::OtherPartition { entity, expected, found });
        } else if batch.operations.iter().any(|operation| operation.row_key == *row_key) {
            self.0.fail(TransactionError::SameRow { entity, row_key: row_key.clone() });
        } else {
            match action {
                Ok(action) => {
                    let operation = Operation { row_key: row_key.clone(), action };
                    self.0.single(self.0.client.context, operation);
                }
                Err(fault) => self.0.fail(fault),
            }
        }
        self
    }
}
