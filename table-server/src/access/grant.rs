//! What a credential allows, and what a request needs.

use super::Permissions;
use crate::error::ServiceError;
use table_orm::TableName;
use table_orm::query::KeyLimits;

/// The part of an account that a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The service: `s` in `srt`.
    Service,
    /// Tables: `c` in `srt`.
    Container,
    /// Entities: `o` in `srt`.
    Object,
    /// A table's policies, which only the account's key may read and write.
    Owner,
}

/// What a request needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need<'n> {
    pub(crate) scope: Scope,
    pub(crate) table: Option<&'n TableName>,
    /// One of these sets is enough.
    pub(crate) permissions: &'n [Permissions],
    /// The row, if there is one.
    pub(crate) row: Option<(&'n str, &'n str)>,
}

/// What a credential allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grant {
    /// Everything: the account's key, or a token.
    Everything,
    /// An account's signature.
    Account {
        /// The letters of `srt`.
        scopes: String,
        permissions: Permissions,
    },
    /// A table's signature.
    Table {
        /// The table's name, in lower case.
        table: String,
        permissions: Permissions,
        keys: KeyLimits,
    },
}

impl Grant {
    /// Checks that a request is allowed.
    pub(crate) fn check(&self, need: &Need<'_>) -> Result<(), ServiceError> {
        let suffices = |permissions: &Permissions| {
            let granted = need.permissions.iter().any(|needed| permissions.has(*needed));
            if granted { Ok(()) } else { Err(ServiceError::PERMISSION_MISMATCH) }
        };
        match self {
            Self::Everything => Ok(()),
            Self::Account { scopes, permissions } => {
                let letter = match need.scope {
                    Scope::Service => 's',
                    Scope::Container => 'c',
                    Scope::Object => 'o',
                    Scope::Owner => return Err(ServiceError::AUTHORIZATION_FAILURE),
                };
                if !scopes.contains(letter) {
                    return Err(ServiceError::RESOURCE_MISMATCH);
                }
                suffices(permissions)
            }
            Self::Table { table, permissions, keys } => {
                let of_table =
                    need.table.is_some_and(|name| name.as_str().eq_ignore_ascii_case(table));
                if need.scope != Scope::Object || !of_table {
                    return Err(ServiceError::AUTHORIZATION_FAILURE);
                }
                suffices(permissions)?;
                if need
                    .row
                    .is_none_or(|(partition_key, row_key)| keys.contain(partition_key, row_key))
                {
                    Ok(())
                } else {
                    Err(ServiceError::AUTHORIZATION_FAILURE)
                }
            }
        }
    }

    /// The rows that a query may return.
    pub(crate) const fn keys(&self) -> Option<&KeyLimits> {
        match self {
            Self::Table { keys, .. } => Some(keys),
            _ => None,
        }
    }
}
