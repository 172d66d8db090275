//! A request that a store rejected.

use crate::codec::{LARGE_ENTITY_HELP, LARGE_VALUE_HELP, UNTYPED};
use crate::model::Printable;
use crate::store::{ErrorCode, StoreError};
use std::fmt;

/// The keys of the entity that has a value which is unique over all partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UniqueHolder {
    /// Its table.
    pub table: String,
    /// Its PartitionKey.
    pub partition_key: String,
    /// The RowKey of its canonical row.
    pub row_key: String,
}

/// A request that a store rejected: the entity and key, and the store's answer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Rejection {
    /// The entity's type name; empty for a table operation.
    pub entity: &'static str,
    /// The table; empty for a call about no table, such as the list of tables.
    pub table: String,
    /// The PartitionKey; empty where the request names no partition.
    pub partition_key: String,
    /// The RowKey of the failed operation; empty where the request names no row.
    pub row_key: String,
    /// The name of the index row that failed, such as `by_age`; `None` for the canonical row.
    pub index_row: Option<&'static str>,
    /// The index in its transaction and the name of the failed operation.
    pub operation: Option<(usize, &'static str)>,
    /// Whether the table is one that the type names for rows or guards, beside its own.
    pub(crate) is_other_table: bool,
    /// Whether the call that it ended is one that can be made again, whatever became of the write.
    pub(crate) is_repeatable: bool,
    /// Whether the request writes nothing.
    pub(crate) is_read: bool,
    /// What the store answered: code, status, message, request id.
    pub cause: StoreError,
}

impl Rejection {
    /// Whether it is about a row of any shape, which has no type that could be changed.
    fn is_untyped(&self) -> bool {
        self.entity == UNTYPED
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.entity.is_empty() && !self.is_untyped() {
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
        write!(f, ": {}", Printable(&self.cause.code))?;
        // The sentence of the error goes on after the store's.
        let message = self.cause.message.trim_end().trim_end_matches('.');
        if !message.is_empty() {
            write!(f, ": {}", Printable(message))?;
        }
        if let Some(id) = &self.cause.request_id {
            write!(f, " (request {})", Printable(id))?;
        }
        Ok(())
    }
}

/// What to do about a key that another entity has too.
pub(super) fn same_key_help(rejection: &Rejection) -> String {
    match rejection.index_row {
        Some(row) => format!(
            "; another entity has the same key in row `{row}`: add a component to its template that \
             makes the key unique; or it is an old row of this entity, which `verify` finds"
        ),
        None if rejection.row_key.is_empty() => String::new(),
        None if rejection.is_untyped() => {
            "; a row of this key is stored: replace it, or choose another key".to_owned()
        }
        None => {
            "; an entity of this key is stored: load and `save` that one, or choose another key; \
                 `upsert` replaces it, but do not call it while the type migrates to other keys"
                .to_owned()
        }
    }
}

/// What a request may have done that got no usable answer.
pub(super) const fn unavailable_help(rejection: &Rejection) -> &'static str {
    if rejection.is_read { "" } else { "; a write may or may not have taken effect" }
}

/// What to do about a write of which nobody knows whether it took effect.
pub(super) const fn ambiguous_help(rejection: &Rejection) -> &'static str {
    if rejection.is_repeatable {
        "what was done stays done: make the call again, it is safe"
    } else {
        "read the rows before writing again"
    }
}

/// The ways out of a limit.
pub(super) fn too_large_help(rejection: &Rejection) -> String {
    if rejection.is_untyped() {
        return String::new();
    }
    let help = match &rejection.cause.code {
        code if *code == ErrorCode::PROPERTY_VALUE_TOO_LARGE => LARGE_VALUE_HELP,
        code if *code == ErrorCode::ENTITY_TOO_LARGE => LARGE_ENTITY_HELP,
        code if *code == ErrorCode::REQUEST_BODY_TOO_LARGE => {
            "use several transactions, or `insert_many`, which cuts by size, for entities that need \
             not be written together"
        }
        _ => return String::new(),
    };
    format!("; {help}")
}

/// What to do about a table that does not exist.
pub(super) fn no_table_help(rejection: &Rejection) -> &'static str {
    match rejection {
        // Of the operations on tables, only a deletion needs one.
        Rejection { entity: "", .. } => "",
        rejection if rejection.is_untyped() => "; check its name, or create it",
        Rejection { is_other_table: true, .. } => {
            "; it is for rows that the type has outside its own table: create it with `Tables::create`, or all \
             tables of the type with `create_all_tables`"
        }
        _ => "; create it with `create_table`",
    }
}
