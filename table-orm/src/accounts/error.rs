//! Why accounts cannot be used as one store.

use super::MAX_ACCOUNTS;
use crate::store::StoreError;

/// Accounts that cannot be one store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountsError {
    /// No account, or too many.
    #[error("a store has 1 to {MAX_ACCOUNTS} accounts, not {0}")]
    Number(usize),
    /// Two accounts of the list are the same `Arc`: these, counted from 0. Two clients of one account are not noticed.
    #[error("accounts {0} and {1} of the list are one store: name each account once")]
    Twice(usize, usize),
    /// Some accounts add a property to rows that others do not add.
    #[error(
        "the accounts hide different properties of rows: give each account the same layers, with the \
         same `write_id`"
    )]
    HiddenProperties,
    /// The accounts were not made to grow.
    #[error(
        "these accounts cannot grow: make them with `Accounts::growing`, from the first row on"
    )]
    Fixed,
    /// A request failed. The next call goes on where this one stopped.
    #[error(
        "`grow` did not finish, and some partitions may not have moved: call it again, and it \
         continues; {0}"
    )]
    Store(#[from] StoreError),
}
