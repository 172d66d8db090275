//! What is wrong with a stored row.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One stored row that is not as its entity's canonical row tells, or one that should be there.
///
/// Serializes, so that findings can be kept, read by people, and repaired later:
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
    /// The name of the row's template, such as `by_age`.
    pub row: String,
    /// The row's PartitionKey.
    pub partition_key: String,
    /// The row's RowKey.
    pub row_key: String,
    /// The RowKey of the canonical row that tells of the row; none for an orphan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The ETag the row was found with; none for a missing row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Problem {
    /// The canonical row tells of it, and it is not there.
    Missing,
    /// It is there, and no canonical row tells of it.
    Orphan,
    /// It stores other values than the canonical row.
    Stale {
        /// The properties that differ.
        properties: Vec<String>,
    },
    /// It does not store the properties that its template says.
    WrongProjection {
        /// Those it should have, and has not.
        lacking: Vec<String>,
        /// Those it has, and should not.
        extra: Vec<String>,
        /// Those it should have, with another value.
        differing: Vec<String>,
    },
    /// A canonical row that cannot be read as the entity. Nothing is known of its index rows.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// A canonical row that tells of rows which cannot be written, such as one whose key would hold
    /// a separator. Only the app can change the value, or the template.
    Unwritable {
        /// Why.
        reason: String,
    },
    /// A canonical row whose properties tell another key than the one it stands under. Which of
    /// the two is right, and so which index rows are, only the app can tell.
    KeyMismatch {
        /// The PartitionKey that its properties tell.
        partition_key: String,
        /// The RowKey that its properties tell.
        row_key: String,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, row, partition_key, row_key, problem, .. } = self;
        write!(f, "`{entity}`, row `{row}`, key {partition_key:?} / {row_key:?}: {problem}")
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Orphan => f.write_str("no canonical row tells of it"),
            Self::Stale { properties } => write!(f, "stale in {}", properties.join(", ")),
            Self::WrongProjection { lacking, extra, differing } => {
                let parts = [("lacks", lacking), ("should not store", extra), ("stale", differing)];
                let parts: Vec<_> = parts
                    .into_iter()
                    .filter(|(_, names)| !names.is_empty())
                    .map(|(what, names)| format!("{what} {}", names.join(", ")))
                    .collect();
                f.write_str(&parts.join("; "))
            }
            Self::Unreadable { reason } => write!(f, "unreadable: {reason}"),
            Self::Unwritable { reason } => {
                write!(f, "tells of a row that cannot be written: {reason}")
            }
            Self::KeyMismatch { partition_key, row_key } => {
                write!(f, "its properties tell the key {partition_key:?} / {row_key:?}")
            }
        }
    }
}
