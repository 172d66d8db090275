//! Access policies that are stored with a table.

use super::Permissions;
use table_orm::model::DateTime;

/// A policy, as far as it is stated. A signature states the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StoredPolicy {
    pub(crate) start: Option<DateTime>,
    pub(crate) expiry: Option<DateTime>,
    pub(crate) permissions: Option<Permissions>,
}
