//! The typed calls on one table. Each returns a value that sends nothing until it is awaited.

mod append;
mod bulk;
#[cfg(feature = "cache")]
mod cached;
mod checked;
mod create_all_tables;
mod create_table;
mod delete;
mod delete_if;
mod delete_partition;
mod delete_table;
mod dynamic_list;
mod entity_costs;
mod expired;
mod explain;
mod fault;
mod get;
mod insert_loaded;
mod large;
mod last_method;
mod list;
mod list_many;
mod listing;
mod load;
mod load_many;
mod load_unique;
mod loaded_set;
mod maintenance;
mod many_pages;
mod mapped;
mod merge;
mod merged_streams;
mod over_stored;
mod page_cursor;
mod pages;
mod patch;
mod purge;
mod read_ahead;
mod register;
mod reload;
mod save;
mod sequence;
mod sum_copies;
mod sums;
mod table;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;
mod transaction;
mod union;
mod update;
mod verify_sums;
mod write;
mod writer;

pub use crate::error::{LargeValueError, SequenceError, SumError, TransactionError, WriterError};
pub use crate::plan::CONFLICT_RETRY_TIME;
pub use append::Append;
pub use bulk::{
    Bulk, BulkFailure, BulkProgress, BulkReport, DEFAULT_PARALLELISM, IntoSource, OPEN_BYTES,
    OPEN_OPERATIONS, Remainder, Source, Streamed,
};
pub use checked::{Checked, CheckedPages};
pub(crate) use create_table::unless_exists;
pub use delete::Delete;
pub use delete_if::DeleteIf;
pub use delete_partition::DeletePartition;
pub use delete_table::DeleteTable;
pub(crate) use delete_table::is_gone;
pub use dynamic_list::DynamicList;
pub use explain::Explanation;
pub use get::{Get, GetMany, MAX_PARALLEL_GETS};
pub use insert_loaded::InsertLoaded;
pub use large::Upload;
pub(crate) use large::{Again, Next, Reading, has_first_row, remove_all_unused, remove_unused};
pub(crate) use last_method::sent_by_last_method;
#[doc(hidden)]
pub use last_method::{Await, ReadsLists};
pub use list::List;
pub(crate) use list::ListParts;
pub use list_many::ListMany;
pub(crate) use listing::only;
pub use load::Load;
pub use load_many::LoadMany;
pub use load_unique::LoadUnique;
pub use loaded_set::LoadedSet;
pub use maintenance::{Backfill, BackfillProgress, BackfillReport};
pub(crate) use maintenance::{CanonicalPages, Deletes};
pub use maintenance::{DropEventualRow, DropEventualRowReport};
pub use maintenance::{
    DropRow, DropRowProgress, DropRowReport, FormerRow, FormerRowError, KeptReason, KeptRow,
    MAX_KEPT_ROWS,
};
pub use maintenance::{
    Finding, Problem, RowLocation, Verify, VerifyEventual, VerifyGuards, VerifyReport,
};
pub(crate) use maintenance::{FormerMarks, FormerProperties};
pub use maintenance::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use maintenance::{Rewrite, RewriteFailure, RewriteProgress, RewriteReport};
pub use many_pages::ManyPages;
pub use mapped::MappedList;
pub use merge::Merge;
pub(crate) use merged_streams::merged;
pub(crate) use pages::{PageReader, until_error};
pub use pages::{Pages, RowPage, RowStream};
pub use patch::{EntityPatch, Patch};
pub use purge::{Purge, PurgeFailure, PurgeProgress, PurgeReport};
pub use register::Register;
pub use reload::Reload;
pub use save::Save;
pub use sequence::{MAX_BLOCK, Sequence};
pub use table::Table;
pub(crate) use transaction::Writes;
pub use transaction::{
    Required, Room, TableTransaction, Transaction, TransactionScope, TransactionWith,
};
pub use union::UnionList;
pub use update::Update;
pub use verify_sums::{SumProblem, WrongSum};
pub use write::Write;
pub use writer::{OpenWriter, Writer, WriterFailure, WriterReport};

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
    entity: PhantomData<fn() -> E>,
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
