//! The typed calls on one table: each a value that is awaited to run, or asked for its plan.

mod bulk;
mod delete_partition;
mod dynamic_list;
mod get;
mod last_method;
mod list;
mod list_many;
mod listing;
mod load;
mod loaded_set;
mod maintenance;
mod merge;
mod merged;
mod pages;
mod patch;
mod save;
mod table;
mod transaction;
mod union;
mod update;
mod write;

pub use crate::error::TransactionError;
pub use crate::plan::MAX_ATTEMPTS;
pub use bulk::{
    Bulk, BulkFailure, BulkProgress, BulkReport, DEFAULT_PARALLELISM, OPEN_BYTES, OPEN_OPERATIONS,
    Remainder,
};
pub use delete_partition::DeletePartition;
pub use dynamic_list::DynamicList;
pub use get::{Get, GetMany, MAX_PARALLEL_GETS};
pub(crate) use last_method::sent_by_last_method;
#[doc(hidden)]
pub use last_method::{Await, ReadsLists};
pub use list::List;
pub use list_many::ListMany;
pub use load::Load;
pub use loaded_set::LoadedSet;
pub use maintenance::{Backfill, BackfillProgress, BackfillReport};
pub use maintenance::{Finding, Problem, Verify, VerifyReport};
pub use maintenance::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use merge::Merge;
pub(crate) use pages::PageReader;
pub use pages::{Pages, RowPage, RowStream};
pub use patch::{EntityPatch, Patch};
pub use save::{Delete, Save};
pub use table::Table;
pub use transaction::Transaction;
pub use union::UnionList;
pub use update::Update;
pub use write::Write;

use crate::entity::TableEntity;
use crate::error::{Error, Result, refused};
use crate::model::TableName;
use crate::plan::{Connection, TableClient};
use std::marker::PhantomData;
use std::sync::Arc;

/// The entities of type `E` in one table. Cheap to clone.
///
/// Calls on entities return a value that sends nothing by itself: `.await` runs it, and `.plan()`
/// says what it would send; all but [`delete_partition`](Self::delete_partition), which goes on by
/// what it reads.
///
/// Rows are replaced whole, but for [`merge`](Self::merge) and
/// [`insert_or_merge`](Self::insert_or_merge): a property that `E` does not know, from a newer
/// version of the app or another tool, goes with the next `save`, `update`, `upsert` or `replace`,
/// and rows that only a newer version has are not kept in step. See
/// [two versions at once](crate::guide::run::versions#two-versions-at-once).
#[derive(Debug)]
pub struct Repo<E> {
    pub(crate) client: TableClient,
    entity: PhantomData<fn() -> E>,
}

impl<E> Clone for Repo<E> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), entity: PhantomData }
    }
}

impl<E: TableEntity> Repo<E> {
    pub(crate) fn new(connection: Arc<Connection>, table: TableName) -> Self {
        Self { client: TableClient::new::<E>(connection, table), entity: PhantomData }
    }

    /// The table's name.
    #[must_use]
    pub const fn table(&self) -> &TableName {
        &self.client.table
    }

    /// Creates the table.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`].
    pub async fn create_table(&self) -> Result<()> {
        let table = self.table();
        self.client
            .store()
            .create_table(table)
            .await
            .map_err(|cause| refused(table.as_str(), cause))
    }

    /// Creates the table unless it is there. Says whether it was created.
    ///
    /// # Errors
    /// When the store cannot be reached, or while a table of that name is being deleted.
    pub async fn create_table_if_not_exists(&self) -> Result<bool> {
        match self.create_table().await {
            Ok(()) => Ok(true),
            Err(Error::AlreadyExists(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the table with all its rows.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub async fn delete_table(&self) -> Result<()> {
        let table = self.table();
        self.client
            .store()
            .delete_table(table)
            .await
            .map_err(|cause| refused(table.as_str(), cause))
    }
}
