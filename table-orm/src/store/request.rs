//! What a layer can see of a request and of its answer, whatever kind they are.

use super::{Operation, Page, StoredRow};
use crate::model::{ETag, TableName};
use crate::query::{QueryClass, ReadMark, RowQuery, Span};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a request is about.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StoreRequest<'r> {
    /// The name of the operation: `get`, `query`, `commit`, `create_table`, `delete_table`,
    /// `list_tables`, or that of a single write, such as `insert-or-merge`.
    pub operation: &'static str,
    /// The table; `None` lists all.
    pub table: Option<&'r TableName>,
    /// The partition, if there is exactly one.
    pub partition_key: Option<&'r str>,
    /// The class of a `get` or a `query`.
    pub class: Option<QueryClass>,
    /// How many entities it writes or, at least, reads: 0 for tables.
    pub entities: usize,
    /// The bytes of the rows that it writes.
    pub bytes: usize,
    /// Whether the caller paces itself: [`RowQuery::self_paced`].
    pub self_paced: bool,
    /// What a `get` or a `query` is for.
    pub mark: ReadMark,
    /// The query of a `query`.
    pub query: Option<&'r RowQuery>,
    /// The name of the write that all operations of a `commit` are.
    pub common: Option<&'static str>,
}

impl<'r> StoreRequest<'r> {
    const fn on_table(operation: &'static str, table: Option<&'r TableName>) -> Self {
        Self {
            operation,
            table,
            partition_key: None,
            class: None,
            entities: 0,
            bytes: 0,
            self_paced: false,
            mark: ReadMark::NONE,
            query: None,
            common: None,
        }
    }

    /// A [`Store::create_table`](super::Store::create_table).
    #[must_use]
    pub const fn create_table(table: &'r TableName) -> Self {
        Self::on_table("create_table", Some(table))
    }

    /// A [`Store::delete_table`](super::Store::delete_table).
    #[must_use]
    pub const fn delete_table(table: &'r TableName) -> Self {
        Self::on_table("delete_table", Some(table))
    }

    /// A [`Store::list_tables`](super::Store::list_tables).
    #[must_use]
    pub const fn list_tables() -> Self {
        Self::on_table("list_tables", None)
    }

    /// A [`Store::get`](super::Store::get), with the [mark](ReadMark::of_this_get) of this task.
    #[must_use]
    pub fn get(table: &'r TableName, partition_key: &'r str) -> Self {
        Self {
            partition_key: Some(partition_key),
            class: Some(QueryClass::Point),
            entities: 1,
            mark: ReadMark::of_this_get(),
            ..Self::on_table("get", Some(table))
        }
    }

    /// A [`Store::query`](super::Store::query).
    #[must_use]
    pub fn query(query: &'r RowQuery) -> Self {
        let partition_key = match &query.keys.partition {
            Span::Exact(partition_key) => Some(partition_key.as_str()),
            _ => query.limits.as_ref().and_then(|limits| limits.partition()),
        };
        Self {
            partition_key,
            class: Some(query.keys.class()),
            entities: 1,
            self_paced: query.self_paced,
            mark: query.mark,
            query: Some(query),
            ..Self::on_table("query", Some(&query.table))
        }
    }

    /// A [`Store::write`](super::Store::write).
    #[must_use]
    pub fn write(table: &'r TableName, partition_key: &'r str, operation: &Operation) -> Self {
        Self {
            partition_key: Some(partition_key),
            entities: 1,
            bytes: body_len(operation),
            ..Self::on_table(operation.action.name(), Some(table))
        }
    }

    /// A [`Store::commit`](super::Store::commit).
    #[must_use]
    pub fn commit(table: &'r TableName, partition_key: &'r str, operations: &[Operation]) -> Self {
        Self {
            partition_key: Some(partition_key),
            entities: operations.len(),
            bytes: operations.iter().map(body_len).sum(),
            common: common(operations),
            ..Self::on_table("commit", Some(table))
        }
    }

    /// What layers keep per partition is kept by: the table, in lower case as its name has no case,
    /// and the PartitionKey.
    pub(crate) fn partition(&self) -> Option<(String, String)> {
        Some((self.table?.as_str().to_ascii_lowercase(), self.partition_key?.to_owned()))
    }

    /// Returns whether it changes rows or tables.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !matches!(self.operation, "get" | "query" | "list_tables")
    }
}

/// The name that all operations have.
fn common(operations: &[Operation]) -> Option<&'static str> {
    let mut names = operations.iter().map(|operation| operation.action.name());
    let first = names.next()?;
    names.all(|name| name == first).then_some(first)
}

fn body_len(operation: &Operation) -> usize {
    operation.action.body().map_or(0, bytes::Bytes::len)
}

/// What a layer can see of an answer. Implemented by what the methods of [`Store`](super::Store)
/// return.
pub trait StoreAnswer: Send {
    /// How many rows it returns; `None` for what returns no rows.
    fn rows_returned(&self) -> Option<usize> {
        None
    }

    /// How many rows the store looked at, if known.
    fn rows_scanned(&self) -> Option<usize> {
        None
    }

    /// The bytes of the rows that it returns.
    fn bytes(&self) -> usize {
        0
    }
}

impl StoreAnswer for () {}
impl StoreAnswer for Vec<TableName> {}
impl StoreAnswer for Option<ETag> {}
impl StoreAnswer for Vec<Option<ETag>> {}

impl StoreAnswer for Option<StoredRow> {
    fn rows_returned(&self) -> Option<usize> {
        Some(usize::from(self.is_some()))
    }

    fn rows_scanned(&self) -> Option<usize> {
        self.rows_returned()
    }

    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |row| row.body.len())
    }
}

/// The body of a page, for its number of rows.
#[derive(Deserialize)]
struct Rows {
    value: Vec<IgnoredAny>,
}

impl StoreAnswer for Page {
    /// Counts the rows of the body: one pass over its text, without an allocation.
    fn rows_returned(&self) -> Option<usize> {
        let rows: Rows = serde_json::from_slice(&self.body).ok()?;
        Some(rows.value.len())
    }

    fn rows_scanned(&self) -> Option<usize> {
        self.scanned.and_then(|rows| rows.try_into().ok())
    }

    fn bytes(&self) -> usize {
        self.body.len()
    }
}
