//! A request that the store did not carry out.

use crate::store::StoreError;
use std::fmt;

/// A request that the store did not carry out: which entity and key, and the service's words.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rejection {
    /// The entity's type name; empty for a table operation.
    pub entity: &'static str,
    /// The table; empty where the call is about none, as the list of tables.
    pub table: String,
    /// The PartitionKey, where the request names one.
    pub partition_key: String,
    /// The RowKey of the failed operation, where there is one.
    pub row_key: String,
    /// The name of the index row that failed, such as `by_age`; `None` for the canonical row.
    pub index_row: Option<&'static str>,
    /// The failed operation's name and index in its transaction.
    pub operation: Option<(usize, &'static str)>,
    /// What the store answered: code, status, message, request id.
    pub cause: StoreError,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.entity.is_empty() {
            write!(f, "`{}` ", self.entity)?;
        }
        match self.table.as_str() {
            "" => f.write_str("list of tables")?,
            table => write!(f, "in table `{table}`")?,
        }
        if !self.row_key.is_empty() {
            write!(f, ", key {:?} / {:?}", self.partition_key, self.row_key)?;
        } else if !self.partition_key.is_empty() {
            write!(f, ", partition {:?}", self.partition_key)?;
        }
        if let Some((index, name)) = self.operation {
            write!(f, ", operation {index} ({name})")?;
        }
        write!(f, ": {}", self.cause.code)?;
        if !self.cause.message.is_empty() {
            write!(f, ": {}", self.cause.message)?;
        }
        if let Some(id) = &self.cause.request_id {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

pub(super) fn taken_text(refusal: &Rejection) -> String {
    let row = refusal.index_row;
    row.map(|row| {
        format!(
            "; another entity has the same key in row `{row}`: end its template with what tells \
             entities apart"
        )
    })
    .unwrap_or_default()
}

pub(super) fn absent_text(refusal: &Rejection) -> &'static str {
    // Of the operations on tables, only a deletion needs one.
    if refusal.entity.is_empty() { "" } else { "; create it with `create_table`" }
}
