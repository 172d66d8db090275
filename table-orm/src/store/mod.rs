//! What a backend is: one small trait, [`Store`], and the values that cross it.
//!
//! Rows cross as the wire's own JSON objects, so no backend converts: `{"PartitionKey":"..",
//! "RowKey":"..","Bib":1234,"Chip":"5","Chip@odata.type":"Edm.Int64"}`. A layer (retry, limits,
//! tracing) is a `Store` around a `Store`.

mod error;
#[cfg(any(feature = "azure", feature = "embedded"))]
pub(crate) mod limits;
mod middleware;
mod operation;
mod page;
mod request;

pub use error::{Ambiguity, ErrorCode, StoreError};
pub use middleware::Middleware;
pub use operation::{Action, Batch, IfMatch, Operation};
pub use page::{Page, StoredRow};
pub use request::{StoreAnswer, StoreRequest};

use crate::model::{ETag, Metadata, TableName};
use crate::query::RowQuery;
use async_trait::async_trait;
use std::fmt;

/// A backend that speaks the Table service's data model.
///
/// Every method is one request. Implementations keep the service's rules: rows ordered by
/// PartitionKey, then RowKey, by UTF-16 code unit; an entity group transaction takes effect whole
/// or not at all; an ETag changes with every write of its row.
///
/// The trait is one of `async_trait`, as its implementations are: the guide shows
/// [a layer of an app's own](crate::guide::faults#a-layer-of-your-own).
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Creates a table.
    ///
    /// # Errors
    /// `TableAlreadyExists` when there is one of that name, ignoring case.
    async fn create_table(&self, table: &TableName) -> Result<(), StoreError>;

    /// Deletes a table with all its rows.
    ///
    /// # Errors
    /// `ResourceNotFound` when there is none.
    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError>;

    /// Lists the names of all tables, in order, spelled as they were created.
    ///
    /// # Errors
    /// When the store cannot be reached or read.
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError>;

    /// The property that the store itself adds to the rows it writes, if it does: no difference
    /// between rows where they are [verified](crate::Repo::verify). A store around a store passes
    /// this on; any other that adds none says `None`.
    fn hidden_property(&self) -> Option<&str>;

    /// Point query: one row by its complete key. `None` when there is no such row.
    ///
    /// `select` names the properties to return (keys and timestamp are named like properties);
    /// `None` returns all.
    ///
    /// # Errors
    /// `TableNotFound` when the table does not exist.
    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError>;

    /// One page of a query, in key order.
    ///
    /// # Errors
    /// `TableNotFound`; `InvalidInput` for a continuation that is not one of this store's.
    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError>;

    /// One write of one row. Returns the row's new ETag, `None` after a delete.
    ///
    /// # Errors
    /// `EntityAlreadyExists`, `ResourceNotFound`, `UpdateConditionNotSatisfied`, or the code of the
    /// limit that the row exceeds.
    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError>;

    /// An entity group transaction: all operations or none. Returns one result an operation, in
    /// order, as [`write`](Self::write) does.
    ///
    /// # Errors
    /// As `write`, with the index of the failed operation; nothing was applied then.
    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError>;
}
