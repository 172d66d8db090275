//! What a credential allows, and what a request needs.

use super::Permissions;
use crate::error::ServiceError;
use table_orm::TableName;
use table_orm::model::order;

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

/// A range of rows, both ends included: PartitionKey and RowKey of each, where given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct KeyLimits {
    pub(crate) first: (Option<String>, Option<String>),
    pub(crate) last: (Option<String>, Option<String>),
}

impl KeyLimits {
    /// Whether a row lies in the range.
    pub(crate) fn contain(&self, partition_key: &str, row_key: &str) -> bool {
        let side = |(partition, row): &(Option<String>, Option<String>)| {
            let key = |key: &str, limit: &Option<String>| {
                limit
                    .as_deref()
                    .map_or(std::cmp::Ordering::Equal, |limit| order::compare(key, limit))
            };
            key(partition_key, partition).then_with(|| key(row_key, row))
        };
        side(&self.first).is_ge() && side(&self.last).is_le()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_rows_is_in_order_of_both_keys() {
        let end = |partition: &str, row: Option<&str>| {
            (Some(partition.to_owned()), row.map(str::to_owned))
        };
        let keys = KeyLimits { first: end("b", Some("m")), last: end("d", Some("m")) };
        for (partition, row, inside) in [
            ("a", "z", false),
            ("b", "l", false),
            ("b", "m", true),
            ("c", "", true),
            ("d", "m", true),
            ("d", "n", false),
            ("e", "", false),
        ] {
            assert_eq!(keys.contain(partition, row), inside, "{partition} {row}");
        }
        let partition = KeyLimits { first: end("b", None), last: end("b", None) };
        assert!(partition.contain("b", "") && partition.contain("b", "\u{FFFF}"));
        assert!(!partition.contain("a", "x") && !partition.contain("c", ""));
        assert!(KeyLimits::default().contain("", ""));
    }
}
