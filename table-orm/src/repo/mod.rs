//! The typed calls on one table. Each returns a value that sends nothing until it is awaited.

mod append;
mod bulk;
#[cfg(feature = "cache")]
mod cached;
mod checked;
mod create_all_tables;
mod create_table;
mod delete;
mod delete_by_key;
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
mod repository;
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
pub use delete_by_key::DeleteByKey;
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
pub use repository::Repo;
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
