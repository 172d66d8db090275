//! The register of a table, as an app holds it.

use crate::model::TableName;

/// The register of a table: [`Repo::register`](crate::Repo::register) makes it, and
/// [`Repo::settle`](crate::Repo::settle) and [`Outbox::dispatch`](crate::outbox::Outbox::dispatch) take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRegister {
    pub(crate) table: TableName,
}

impl TableRegister {
    /// Returns the name of the register's table.
    #[must_use]
    pub const fn table(&self) -> &TableName {
        &self.table
    }
}
