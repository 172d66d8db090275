//! The untyped calls on one table, for tools.

use super::DynamicList;
use super::bulk::{BatchPolicy, Bulk};
use super::listing::Listing;
use crate::entity::{DynamicEntity, read_row};
use crate::error::Result;
use crate::model::{ETag, Metadata, TableName};
use crate::plan::{CanonicalKey, Connection, TableClient};
use crate::query::{IntoSpan, KeyRange, Span};
use crate::store::{Action, Batch, IfMatch, Operation};
use bytes::Bytes;
use std::sync::Arc;

/// The rows of one table, whatever they are. Cheap to clone.
///
/// Keys are the stored text. Nothing keeps index rows in step here: typed entities are written
/// through [`Repo`](super::Repo).
#[derive(Debug, Clone)]
pub struct Table {
    pub(crate) client: TableClient,
}

impl Table {
    pub(crate) fn new(connection: Arc<Connection>, table: TableName) -> Self {
        Self { client: TableClient::untyped(connection, table, "DynamicEntity") }
    }

    /// Point query.
    ///
    /// # Errors
    /// The store's refusal, or a row that cannot be read.
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

    /// Inserts a row. Returns its ETag, as all writes but a delete do.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`](crate::Error::AlreadyExists).
    pub async fn insert(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, Action::Insert).await
    }

    /// Inserts a row, or replaces the one there.
    ///
    /// # Errors
    /// A value the service would refuse, or the store's refusal.
    pub async fn insert_or_replace(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, Action::InsertOrReplace).await
    }

    /// Inserts rows, or replaces those there: chunked into entity group transactions, several under
    /// way at a time. Of two rows with one key, the later given stays.
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
    pub fn insert_or_replace_many<I>(&self, rows: I) -> Bulk<'_, DynamicEntity, I::IntoIter>
    where
        I: IntoIterator<Item = DynamicEntity>,
    {
        let operations = |row: &DynamicEntity| {
            let action = Action::InsertOrReplace(row.body()?);
            let operations = vec![Operation { row_key: row.row_key.clone(), action }];
            Ok(Batch { partition_key: row.partition_key.clone(), operations })
        };
        let input = rows.into_iter();
        Bulk::new(self.client.clone(), input, BatchPolicy::shared(operations))
    }

    /// Inserts a row, or sets the given properties of the one there.
    ///
    /// # Errors
    /// A value the service would refuse, or the store's refusal.
    pub async fn insert_or_merge(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, Action::InsertOrMerge).await
    }

    /// Replaces a row, in the version of its `etag`, or any where that is `None`.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::NotFound`](crate::Error::NotFound).
    pub async fn replace(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, |body| Action::Replace(body, condition(row))).await
    }

    /// Sets the given properties of a row, in the version of its `etag`, or any where that is
    /// `None`. Properties not given stay.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::NotFound`](crate::Error::NotFound).
    pub async fn merge(&self, row: &DynamicEntity) -> Result<ETag> {
        self.write(row, |body| Action::Merge(body, condition(row))).await
    }

    /// Deletes a row, in the version of its `etag`, or any where that is `None`.
    ///
    /// # Errors
    /// [`Error::Conflict`](crate::Error::Conflict), [`Error::NotFound`](crate::Error::NotFound).
    pub async fn delete(&self, row: &DynamicEntity) -> Result<()> {
        self.send(row, |_| Action::Delete(condition(row))).await.map(drop)
    }

    /// The rows of one partition whose RowKeys lie in a range of stored text; `..` for all.
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
        let operation = Operation { row_key: row.row_key.clone(), action: action(row.body()?) };
        let partition_key = row.partition_key.clone();
        let batch = Batch { partition_key, operations: vec![operation] };
        Ok(self.client.send(batch).await?.into_iter().next().flatten())
    }
}

fn condition(row: &DynamicEntity) -> IfMatch {
    row.etag.clone().map_or(IfMatch::Any, IfMatch::ETag)
}
