//! The tables of the database file.
//!
//! Invariant: each storage table is one redb table, named after it in lower case. The two tables
//! below have names that no storage table can have, with the version of this layout.

use redb::TableDefinition;
use std::borrow::Cow;

/// A row's key in a file, as [`key_bytes`](super::key_bytes) writes it.
pub(super) type Key = &'static [u8];
/// What a file stores under it.
pub(super) type Value = &'static [u8];

/// The prefix of the names of our own tables, in every version of the layout.
pub(crate) const MARK: &str = "table-orm/";
/// Table names: in lower case, and as spelled at creation.
pub(crate) const CATALOG: TableDefinition<'_, &str, &str> =
    TableDefinition::new("table-orm/1/tables");
/// The upper bound of all timestamps, in ticks.
pub(crate) const CLOCK: TableDefinition<'_, (), i64> = TableDefinition::new("table-orm/1/clock");

/// Returns the redb table of a storage table, by its [`lower_case`] name.
pub(crate) const fn rows(table: &str) -> TableDefinition<'_, Key, Value> {
    TableDefinition::new(table)
}

/// Returns the name under which a table is stored: the service ignores case.
pub(crate) fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
