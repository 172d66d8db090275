//! What the database file holds.
//!
//! Invariant: one redb table a storage table, named after it in lower case, plus the two tables
//! below, whose names no storage table can have. Their names carry the version of this layout.

use redb::TableDefinition;
use std::borrow::Cow;

/// What starts the names of our own tables, of every version of the layout.
pub(crate) const MARK: &str = "table-orm/";
/// Table names: in lower case, and as they were spelled at creation.
pub(crate) const CATALOG: TableDefinition<'_, &str, &str> =
    TableDefinition::new("table-orm/1/tables");
/// The tick count that no timestamp has passed.
pub(crate) const CLOCK: TableDefinition<'_, (), i64> = TableDefinition::new("table-orm/1/clock");

/// The redb table of a storage table, by its [`lower_case`] name.
pub(crate) const fn rows(table: &str) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
    TableDefinition::new(table)
}

/// The name under which a table is stored: the service ignores case.
pub(crate) fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}
