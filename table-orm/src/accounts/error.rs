//! Accounts that cannot be one store.

use super::MAX_ACCOUNTS;

/// Accounts that cannot be one store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountsError {
    /// No account, or too many.
    #[error("1 to {MAX_ACCOUNTS} accounts make one store, not {0}")]
    Number(usize),
    /// Some accounts add a property to rows that others do not add.
    #[error(
        "the accounts hide different properties of rows: give each account the same layers, with the \
         same `write_id`"
    )]
    HiddenProperties,
}
