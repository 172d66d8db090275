//! The untyped calls on one table, for tools.

use super::DynamicList;
use super::bulk::{BatchPolicy, Bulk, IntoSource};
use super::listing::Listing;
use crate::codec::UNTYPED;
use crate::entity::{DynamicEntity, RawRow, read_row};
use crate::error::Result;
use crate::model::{ETag, Metadata, TableName};
use crate::plan::{CanonicalKey, Connection, TableClient};
use crate::query::{IntoSpan, KeyRange, Span};
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use std::sync::Arc;

/// The rows of one table, of any shape. Cheap to clone.
///
/// Keys are the stored text. These calls do not keep index rows in step: write typed entities through
/// [`Repo`](super::Repo).
///
/// ```
/// # use table_orm::{DynamicEntity, TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let name = TableName::new("songs")?;
/// # tables.create(&name).await?;
/// # let songs = tables.table(name);
/// let row = DynamicEntity::new("Blue", "01").with("Title", "All I Want");
/// songs.insert(&row).await?;
/// let stored = songs.get("Blue", "01").await?.unwrap();
/// assert_eq!(stored.properties, row.properties);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) client: TableClient,
}

impl Table {
    pub(crate) fn new(connection: Arc<Connection>, table: TableName) -> Self {
        Self { client: TableClient::untyped(connection, table, UNTYPED) }
    }

    /// Reads a row by its complete key: one request. Returns `None` when the row does not exist.
    ///
    /// # Errors
    /// When the store rejects the request, or the row cannot be read.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// assert!(songs.get("Blue", "01").await?.is_none());
    /// songs.insert(&DynamicEntity::new("Blue", "01")).await?;
    /// let stored = songs.get("Blue", "01").await?;
    /// assert!(stored.is_some_and(|row| row.etag.is_some()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get(&self, partition_key: &str, row_key: &str) -> Result<Option<DynamicEntity>> {
        match self.client.annotated_row(partition_key, row_key).await? {
            Some(row) => {
                let mut entity = read_row::<DynamicEntity>(0, &row.body)?;
                entity.etag = row.header.or(entity.etag);
                Ok(Some(entity))
            }
            None => Ok(None),
        }
    }

    /// Inserts a row. Returns its ETag, as all writes except deletes do.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists) when the row exists.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, Error, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// let row = DynamicEntity::new("Blue", "01").with("Title", "All I Want");
    /// songs.insert(&row).await?;
    /// assert!(matches!(songs.insert(&row).await, Err(Error::AlreadyExists(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn insert(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, Action::Insert).await
    }

    /// Inserts a row, or replaces the stored one. Properties that are not in `row` are removed.
    ///
    /// # Errors
    /// When the service would reject a value, or the store rejects the request.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01").with("Seconds", 213)).await?;
    /// songs.insert_or_replace(&DynamicEntity::new("Blue", "01").with("Title", "All I Want")).await?;
    /// let stored = songs.get("Blue", "01").await?.unwrap();
    /// assert!(!stored.properties.contains_key("Seconds"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn insert_or_replace(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, Action::InsertOrReplace).await
    }

    /// Inserts many rows, in entity group transactions of at most 100 rows, several at a time. A row
    /// that exists is a failure of the report, and no other row of its transaction is written.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("results")?;
    /// # tables.create(&name).await?;
    /// # let results = tables.table(name);
    /// results.insert(&DynamicEntity::new("Boston", "00007")).await?;
    /// let rows = (0..250).map(|bib| DynamicEntity::new("Boston", format!("{bib:05}")));
    /// let report = results.insert_many(rows).continue_on_failure().await;
    /// assert_eq!((report.written.rows, report.failures.len()), (249, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_many<I, K>(&self, rows: I) -> Bulk<'static, DynamicEntity, I::Source>
    where
        I: IntoSource<DynamicEntity, K>,
    {
        self.many(rows.into_source(), |row| batch(row, Action::Insert))
    }

    /// Inserts or replaces many rows, in entity group transactions of at most 100 rows, several at a
    /// time. If two rows have one key, the later one is stored.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("results")?;
    /// # tables.create(&name).await?;
    /// let rows = (0..250).map(|bib| DynamicEntity::new("Boston", format!("{bib:05}")));
    /// let written = tables.table(name).insert_or_replace_many(rows).parallelism(4).await.all()?;
    /// assert_eq!((written.rows, written.requests), (250, 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_or_replace_many<I, K>(&self, rows: I) -> Bulk<'static, DynamicEntity, I::Source>
    where
        I: IntoSource<DynamicEntity, K>,
    {
        self.many(rows.into_source(), |row| batch(row, Action::InsertOrReplace))
    }

    /// Inserts or replaces many rows that another table stores, with their exact texts. They share transactions as
    /// those of [`insert_or_replace_many`](Self::insert_or_replace_many).
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let (name, other) = (TableName::new("results")?, TableName::new("copy")?);
    /// # tables.create(&name).await?;
    /// # tables.create(&other).await?;
    /// # let (results, copy) = (tables.table(name), tables.table(other));
    /// # let rows = (0..250).map(|bib| DynamicEntity::new("Boston", format!("{bib:05}")));
    /// # results.insert_many(rows).await.all()?;
    /// let rows = results.scan(ScanPermit::because("a copy")).raw().collect().await?;
    /// let written = copy.insert_or_replace_raw(rows).await.all()?;
    /// assert_eq!((written.rows, written.requests), (250, 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_or_replace_raw<I, K>(&self, rows: I) -> Bulk<'static, RawRow, I::Source>
    where
        I: IntoSource<RawRow, K>,
    {
        let operations = |row: &RawRow| {
            let action = Action::InsertOrReplace(row.body().clone());
            let operation = Operation { row_key: row.row_key.clone(), action };
            let partition_key = row.partition_key.clone();
            Ok(Batch { partition_key, operations: vec![operation] })
        };
        Bulk::new(self.client.clone(), rows.into_source(), BatchPolicy::shared(operations))
    }

    /// Deletes many rows, each in the version of its `etag`, or in any version when that is `None`.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("results")?;
    /// # tables.create(&name).await?;
    /// # let results = tables.table(name);
    /// # let rows = (0..250).map(|bib| DynamicEntity::new("Boston", format!("{bib:05}")));
    /// # results.insert_many(rows).await.all()?;
    /// let boston = results.list("Boston", ..).collect().await?;
    /// let deleted = results.delete_many(boston).await.all()?;
    /// assert_eq!((deleted.rows, deleted.requests), (250, 3));
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_many<I, K>(&self, rows: I) -> Bulk<'static, DynamicEntity, I::Source>
    where
        I: IntoSource<DynamicEntity, K>,
    {
        self.many(rows.into_source(), |row| Ok(batch_of(row, Action::Delete(condition(row)))))
    }

    fn many<I>(
        &self,
        rows: I,
        operations: fn(&DynamicEntity) -> Result<Batch>,
    ) -> Bulk<'static, DynamicEntity, I> {
        Bulk::new(self.client.clone(), rows, BatchPolicy::shared(operations))
    }

    /// Inserts a row, or sets its properties in the stored one. Properties that are not in `row` keep their
    /// stored values.
    ///
    /// # Errors
    /// When the service would reject a value, or the store rejects the request.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01").with("Seconds", 213)).await?;
    /// songs.insert_or_merge(&DynamicEntity::new("Blue", "01").with("Title", "All I Want")).await?;
    /// assert_eq!(songs.get("Blue", "01").await?.unwrap().properties.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn insert_or_merge(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, Action::InsertOrMerge).await
    }

    /// Replaces a row in the version of its `etag`, or in any version when that is `None`.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when the row has another version, and
    /// [`Error::NotFound`](crate::Error::NotFound) when it does not exist. Nothing is written then.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, Error, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01").with("Seconds", 213)).await?;
    /// let stored = songs.get("Blue", "01").await?.unwrap();
    /// songs.replace(&stored.clone().with("Seconds", 214)).await?;
    /// // `stored` has the ETag of the older version.
    /// assert!(matches!(songs.replace(&stored).await, Err(Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn replace(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, |body| Action::Replace(body, condition(row))).await
    }

    /// Sets the properties of `row` in the stored row, in the version of its `etag`, or in any version when
    /// that is `None`. Other properties keep their stored values.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when the row has another version, and
    /// [`Error::NotFound`](crate::Error::NotFound) when it does not exist. Nothing is written then.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, Error, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01").with("Seconds", 213)).await?;
    /// songs.merge(&DynamicEntity::new("Blue", "01").with("Title", "All I Want")).await?;
    /// assert_eq!(songs.get("Blue", "01").await?.unwrap().properties.len(), 2);
    /// let absent = songs.merge(&DynamicEntity::new("Blue", "02")).await;
    /// assert!(matches!(absent, Err(Error::NotFound(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn merge(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, |body| Action::Merge(body, condition(row))).await
    }

    /// Deletes a row in the version of its `etag`, or in any version when that is `None`.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict) when the row has another version, and
    /// [`Error::NotFound`](crate::Error::NotFound) when it does not exist. Nothing is deleted then.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, Error, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01")).await?;
    /// let row = songs.get("Blue", "01").await?.unwrap();
    /// songs.delete(&row).await?;
    /// assert!(matches!(songs.delete(&row).await, Err(Error::NotFound(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete(&self, row: &DynamicEntity) -> Result<()> {
        self.send(row, |_| Action::Delete(condition(row))).await.map(drop)
    }

    /// Reads the rows of one partition whose RowKeys lie in a range of stored text; `..` reads all. A range that ends before
    /// it starts has no rows.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// for key in ["01", "02", "10"] {
    ///     songs.insert(&DynamicEntity::new("Blue", key)).await?;
    /// }
    /// assert_eq!(songs.list("Blue", ..).count().await?, 3);
    /// let first = songs.list("Blue", "0".to_owned().."1".to_owned()).collect().await?;
    /// assert_eq!(first.last().map(|row| row.row_key.as_str()), Some("02"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self, partition_key: impl Into<String>, rows: impl IntoSpan) -> DynamicList {
        let partition = Span::Exact(partition_key.into());
        let mut query = self.client.query(KeyRange { partition, row: rows.into_span() });
        query.metadata = Metadata::Minimal;
        DynamicList { listing: Listing::new(self.client.clone(), Ok(query)) }
    }

    async fn write(
        &self,
        row: &DynamicEntity,
        action: impl FnOnce(Bytes) -> Action,
    ) -> Result<ETag> {
        let etag = self.send(row, action).await?;
        let (partition_key, row_key) = (row.partition_key.clone(), row.row_key.clone());
        self.client.version(&CanonicalKey { partition_key, row_key }, etag)
    }

    async fn send(
        &self,
        row: &DynamicEntity,
        action: impl FnOnce(Bytes) -> Action,
    ) -> Result<Option<ETag>> {
        Ok(self.client.send(batch(row, action)?).await?.into_iter().next().flatten())
    }
}

pub(super) fn condition(row: &DynamicEntity) -> IfMatch {
    row.etag.clone().map_or(IfMatch::Any, IfMatch::ETag)
}

fn batch(row: &DynamicEntity, action: impl FnOnce(Bytes) -> Action) -> Result<Batch> {
    Ok(batch_of(row, action(row.body()?)))
}

/// One operation on a row.
fn batch_of(row: &DynamicEntity, action: Action) -> Batch {
    let operation = Operation { row_key: row.row_key.clone(), action };
    Batch { partition_key: row.partition_key.clone(), operations: vec![operation] }
}
