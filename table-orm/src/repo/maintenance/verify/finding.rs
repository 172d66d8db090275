//! A fault of a stored row.

use crate::model::Printable;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One stored row that differs from the row that its canonical row expects, or that is missing.
///
/// Findings serialize, so that they can be kept, read by people, and repaired later:
///
/// ```
/// use table_orm::repo::{Finding, Problem};
///
/// let text = r#"{"entity":"Registration","row":"by_age","partition_key":"Race",
///     "row_key":"AGE:055__1234__John__M","canonical":"BIB:01234__John__M__55",
///     "problem":{"kind":"stale","properties":["City"]}}"#;
/// let finding: Finding = serde_json::from_str(text)?;
/// assert_eq!(finding.problem, Problem::Stale { properties: vec!["City".into()] });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The entity's type name.
    pub entity: String,
    /// The name of the row's template, such as `by_age`; `ticket` for a [`Leftover`](Problem::Leftover), and
    /// `large value` for an [`UnusedValue`](Problem::UnusedValue).
    pub row: String,
    /// The row's PartitionKey.
    pub partition_key: String,
    /// The row's RowKey.
    pub row_key: String,
    /// Where the row and its entity are, if the row is in another partition or table.
    #[serde(rename = "elsewhere", default, skip_serializing_if = "Option::is_none")]
    pub location: Option<RowLocation>,
    /// The RowKey of the canonical row that expects the row; `None` for an orphan in the entity's partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The ETag of the row when it was read; `None` for a missing row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The fault.
    pub problem: Problem,
}

/// The place of a row in another partition or table, and of its entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RowLocation {
    /// The row's table.
    pub table: String,
    /// The PartitionKey of the entity.
    pub home: String,
}

impl RowLocation {
    /// A row in that table, of an entity in that partition.
    #[must_use]
    pub fn new(table: impl Into<String>, home: impl Into<String>) -> Self {
        Self { table: table.into(), home: home.into() }
    }
}

/// The fault of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Problem {
    /// The canonical row expects it, and it does not exist.
    Missing,
    /// The canonical row expects it in another table, and that table does not exist. Create it, such as with
    /// [`create_all_tables`](crate::Repo::create_all_tables), then repair.
    TableMissing,
    /// It exists, and no canonical row expects it.
    Orphan,
    /// It stores other values than the canonical row.
    Stale {
        /// The properties that differ.
        properties: Vec<String>,
    },
    /// It does not store the properties of its template.
    WrongProjection {
        /// Properties that it should store, and does not.
        lacking: Vec<String>,
        /// Properties that it stores, and should not.
        extra: Vec<String>,
        /// Properties that it stores with another value.
        differing: Vec<String>,
    },
    /// It is in another partition, and does not equal what the canonical row says, because a write of the
    /// entity is not settled yet. Its writer settles it, or [`Repo::settle`](crate::Repo::settle).
    Pending,
    /// A ticket to write rows of an entity in this partition, which nobody has used. Its process ended before
    /// it used the ticket, or the request for the ticket took effect late. The ticket does nothing. The next
    /// write of the entity there uses it.
    Leftover {
        /// Its age in seconds, by the service's clock.
        seconds: u64,
    },
    /// A large value to which no entity refers: its upload ended without one, or the entity has another value now.
    UnusedValue {
        /// The seconds since it was uploaded or last referred to, by the service's clock.
        seconds: u64,
    },
    /// The guard row of a value that is unique over all partitions names another entity, which has the value
    /// too. Only the app can decide who keeps it.
    Taken {
        /// The PartitionKey of the other entity.
        partition_key: String,
        /// The RowKey of its canonical row.
        row_key: String,
    },
    /// A canonical row that cannot be read as the entity. Its index rows are unknown.
    Unreadable {
        /// The reason.
        reason: String,
    },
    /// A canonical row with an index row that cannot be written, such as one whose key would contain a
    /// separator. Only the app can change the value or the template.
    Unwritable {
        /// The reason.
        reason: String,
    },
    /// A canonical row whose properties make another key than the row has. Only the app knows which of
    /// the two is right, and so which index rows are.
    KeyMismatch {
        /// The PartitionKey that its properties make.
        partition_key: String,
        /// The RowKey that its properties make.
        row_key: String,
    },
    /// A mark that a later version of the app left: the entity has another key now. This version reads
    /// it under neither.
    Moved {
        /// The property `Moved_To`, which says where the entity is now.
        to: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, row, partition_key, row_key, problem, location, canonical, .. } = self;
        let (entity, row) = (Printable(entity), Printable(row));
        write!(f, "`{entity}`, row `{row}`, key {partition_key:?} / {row_key:?}")?;
        if let (Some(RowLocation { home, .. }), Some(canonical)) = (location, canonical) {
            write!(f, " of {home:?} / {canonical:?}")?;
        }
        write!(f, ": {problem}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::TableMissing => f.write_str(
                "missing, as its table does not exist: create it, such as with `create_all_tables`, then repair",
            ),
            Self::Orphan => f.write_str("no canonical row expects it"),
            Self::Pending => f.write_str("a write of its entity is not settled yet"),
            Self::Leftover { seconds } => write!(f, "a ticket that nobody used for {seconds} s"),
            Self::UnusedValue { seconds } => {
                write!(f, "a large value that no entity refers to, for {seconds} s")
            }
            Self::Taken { partition_key, row_key } => {
                write!(f, "{partition_key:?} / {row_key:?} has the value too")
            }
            Self::Stale { properties } => {
                write!(f, "stale in {}", Printable(properties.join(", ")))
            }
            Self::WrongProjection { lacking, extra, differing } => {
                let parts = [("lacks", lacking), ("should not store", extra), ("stale", differing)];
                let parts: Vec<_> = parts
                    .into_iter()
                    .filter(|(_, names)| !names.is_empty())
                    .map(|(what, names)| format!("{what} {}", names.join(", ")))
                    .collect();
                write!(f, "{}", Printable(parts.join("; ")))
            }
            Self::Unreadable { reason } => write!(f, "unreadable: {}", Printable(reason)),
            Self::Unwritable { reason } => {
                write!(f, "one of its rows cannot be written: {}", Printable(reason))
            }
            Self::KeyMismatch { partition_key, row_key } => {
                write!(f, "its properties make the key {partition_key:?} / {row_key:?}")
            }
            Self::Moved { to } => write!(f, "moved to {to:?}"),
        }
    }
}
