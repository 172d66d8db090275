//! The contract of a backend: one trait, [`Store`], and the values that cross it.
//!
//! ```text
//!   Repo, Table, scans        each call sends one request or several
//!        |
//!   Retry, RateLimit, ..      layers: each is a Store around the Store below; the last one added
//!        |                    comes first
//!   EmbeddedStore             a backend: stores rows,
//!   AzureStore                or sends requests to a service that does
//! ```
//!
//! Rows cross as JSON objects in the service's form, so no backend converts them:
//! `{"PartitionKey":"..","RowKey":"..","Bib":1234,"Chip":"5","Chip@odata.type":"Edm.Int64"}`.
//!
//! # A backend of your own
//!
//! Implement [`Store`]. The typed API relies on the following and does not check it. A backend MUST
//!
//! - order rows by PartitionKey, then RowKey, both by UTF-16 code unit, and compare keys exactly;
//!   compare names of tables without regard to case;
//! - store each row under the keys of the call, whatever its JSON says, and return it with both keys
//!   and a `Timestamp` unless `select` leaves them out;
//! - return every property with the value it was written with and the annotations that the query's
//!   [`Metadata`] asks for (or more), and leave out properties that are `null`;
//! - change a row's ETag with every write of it, and return it with the row: as its member
//!   `odata.etag`, or as the `Timestamp` from which [`ETag::from_timestamp`] makes it;
//! - carry out the condition of a write ([`IfMatch`]) and the write as one step;
//! - carry out all operations of a [`Batch`] or no operation, and name the operation that failed;
//! - show a write to every read that begins after the write has returned;
//! - apply a query's filter to every row in its keys and limits, return at most `top` rows, and return a
//!   continuation while more rows may follow, even after an empty page. Following continuations
//!   returns every row that was there throughout exactly once;
//! - fail with the [`ErrorCode`]s named at each method, and with a status from 400 to 499 only if the
//!   request had no effect. If it may have had one, fail with [`StoreError::no_answer`] or status 500:
//!   [`Retry`](crate::layer::Retry) relies on the difference;
//! - stay consistent when a call is dropped: its request takes effect whole or not at all.
//!
//! A backend SHOULD
//!
//! - check the service's limits before it sends or stores anything, so that an app tested with it also
//!   runs on the service;
//! - leave retries, timeouts and rate limits to [layers](crate::layer);
//! - return its name as [`backend`](Store::backend), `retry_after` and `request_id` where it knows
//!   them, and [`Page::scanned`] where it knows how many rows it looked at;
//! - not block the thread of the calling task for longer than a few page reads.
//!
//! # A layer of your own
//!
//! Implement [`Middleware`], which forwards everything to the store below, and write only what the
//! layer adds.

mod ambiguity;
mod backend;
mod error;
#[cfg(any(feature = "azure", feature = "embedded"))]
pub(crate) mod limits;
mod middleware;
mod operation;
mod page;
mod request;
mod secondary;
pub(crate) mod tally;

pub use ambiguity::Ambiguity;
pub use backend::Backend;
pub use error::{ErrorCode, StoreError};
pub use middleware::Middleware;
pub use operation::{Action, Batch, IfMatch, Operation};
pub use page::{Page, StoredRow};
pub use request::{StoreAnswer, StoreRequest};
pub use secondary::{Replication, ReplicationStatus, Secondary};

pub(crate) use operation::estimated_bytes;

use crate::model::{DateTime, ETag, MAX_TRANSACTION_OPERATIONS, Metadata, TableName};
use crate::query::RowQuery;
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// A backend that speaks the Table service's data model.
///
/// Every `async` method is one request; only `list_tables` may send one for each page. The [module](self) lists what an implementation must guarantee. Write
/// `#[async_trait::async_trait]` above `impl Store`; a store around a store implements [`Middleware`]
/// instead.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store",
    label = "neither `Store` nor `Middleware` is implemented for `{Self}`",
    note = "implement `Store` for a backend, `Middleware` for a store around a store"
)]
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// Returns the bytes of the request that [`commit`](Self::commit) sends for these operations, up to
    /// [`MAX_TRANSACTION_BYTES`](crate::model::MAX_TRANSACTION_BYTES) of which the service takes; of no
    /// operations, the bytes around any.
    ///
    /// An operation adds as many bytes beside others as alone. Bulk writes fill their transactions by
    /// it. The default is more than the service's own protocol takes, for an address of up to 100 bytes.
    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        let _ = table;
        estimated_bytes(partition_key, operations)
    }

    /// Returns how many operations a transaction of this store can have: the service's limit, less those that a
    /// store around a store adds. At least 2.
    fn transaction_operations(&self) -> usize {
        MAX_TRANSACTION_OPERATIONS
    }

    /// Creates a table.
    ///
    /// # Errors
    /// `TableAlreadyExists`: the name is taken, in whatever case.
    async fn create_table(&self, table: &TableName) -> Result<(), StoreError>;

    /// Deletes a table with all its rows.
    ///
    /// # Errors
    /// `ResourceNotFound`: the table does not exist.
    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError>;

    /// Lists the names of all tables in order, without regard to case, each spelled as it was created.
    ///
    /// # Errors
    /// The store cannot be reached or read.
    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError>;

    /// The property that this store adds to the rows it writes, if it adds one.
    /// [`Repo::verify`](crate::Repo::verify) ignores it when it compares rows. A store around a store
    /// returns that of the store below, unless it adds its own.
    fn hidden_property(&self) -> Option<&str>;

    /// What reports of calls name the store. A backend of your own returns its name and address; a store
    /// around a store returns that of the store below.
    fn backend(&self) -> Backend {
        Backend::default()
    }

    /// The copy of the store in another region, if it has one that can be read. A store around a store
    /// returns that of the store below: what it does, it does to its own requests only.
    fn secondary(&self) -> Option<Arc<dyn Secondary>> {
        None
    }

    /// The time of the service's clock in its latest answer; `None` before the first one, or where
    /// answers have no time.
    ///
    /// A write that begins after this call gets no `Timestamp` that is 15 minutes earlier or more.
    /// [`Retry`](crate::layer::Retry) takes an older row for one that was there before; without a
    /// time, it takes no row for that. A store around a store returns that of the store below.
    fn service_time(&self) -> Option<DateTime> {
        None
    }

    /// Whether the credential has a range of RowKeys, so that lists leave out other rows of a partition. Calls that need
    /// all rows are refused then, such as [`Repo::verify`](crate::Repo::verify). A store around a store returns that of
    /// the store below.
    fn has_row_bounds(&self) -> bool {
        false
    }

    /// Reads one row by its complete key (a point query); `None` if it does not exist.
    ///
    /// `select` names the properties to return, the keys and the timestamp among them; `None` returns
    /// all.
    ///
    /// # Errors
    /// `TableNotFound`: the table does not exist.
    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError>;

    /// Reads one page of a query, in key order.
    ///
    /// # Errors
    /// `TableNotFound`: the table does not exist. `InvalidInput`: the continuation is not from this
    /// store, or the query exceeds a limit.
    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError>;

    /// Writes one row. Returns its new ETag, `None` after a delete.
    ///
    /// # Errors
    /// `EntityAlreadyExists`: an insert found a row. `ResourceNotFound`: an update or a delete found
    /// no row. `UpdateConditionNotSatisfied`: the row has another ETag. The code of a limit: the row
    /// exceeds it. The row is unchanged then.
    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError>;

    /// Commits an entity group transaction: all operations take effect, or no operation does.
    /// Returns what [`write`](Self::write) returns for each operation, in order.
    ///
    /// # Errors
    /// As [`write`](Self::write), with the index of the operation that failed. No row has changed then.
    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError>;
}
