//! The progress and the result of a drop.

use crate::error::{Error, Result};
use crate::model::Printable;
use crate::query::PageToken;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most rows that a report lists as kept. Their number is in the progress.
pub const MAX_KEPT_ROWS: usize = 100;

/// The progress of a drop, in whole pages.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct DropRowProgress {
    /// Rows read: those whose RowKeys begin as those of the former row. 0 at the end says that no such row is stored,
    /// or that the literal at the start of the template is mistyped.
    pub read: u64,
    /// Rows deleted; in a dry run, those that would be.
    pub rows: u64,
    /// Rows whose keys read as those of the former row, and that were kept.
    pub kept: u64,
    /// Transactions sent; in a dry run, those that would be.
    pub requests: u64,
    /// Where the next page starts, for [`DropRow::resume`](super::DropRow::resume). `None` at the end, and before the
    /// first page.
    pub token: Option<PageToken>,
}

/// The result of a drop.
#[derive(Debug, Default)]
#[must_use = "it may hold an error"]
#[non_exhaustive]
pub struct DropRowReport {
    /// The progress it made.
    pub progress: DropRowProgress,
    /// The first rows that were kept, at most [`MAX_KEPT_ROWS`].
    pub kept: Vec<KeptRow>,
    /// The components of the former row's template that the type has neither as a component nor as a property.
    /// The type has lost the field, its property has another name now, or the name is mistyped.
    pub unknown_components: Vec<String>,
    /// Whether it deleted nothing, because it was a [`dry_run`](super::DropRow::dry_run).
    pub is_dry_run: bool,
    /// The error that ended it before the last page. Resume at the token of `progress`.
    pub ended: Option<Error>,
}

impl DropRowReport {
    /// Returns the progress when the drop reached the end. Kept rows are no failures: see [`kept`](Self::kept) first.
    ///
    /// # Errors
    /// The error that ended it.
    pub fn all(self) -> Result<DropRowProgress> {
        self.ended.map_or(Ok(self.progress), Err)
    }

    pub(super) fn keep(&mut self, row: KeptRow) {
        self.progress.kept += 1;
        if self.kept.len() < MAX_KEPT_ROWS {
            self.kept.push(row);
        }
    }
}

/// Lines for people: what it did or would do, and what to look at before it is run.
impl fmt::Display for DropRowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DropRowProgress { read, rows, kept, .. } = self.progress;
        let verb = if self.is_dry_run { "would delete" } else { "deleted" };
        write!(f, "{verb} {rows} of {read} rows that were read, and kept {kept}")?;
        for component in &self.unknown_components {
            write!(
                f,
                "\nWARNING: {{{component}}} is no component and no property of the type, so it takes any text in a \
                 key; if it is mistyped, rows that were never written for this index may fit the template"
            )?;
        }
        if read == 0 {
            f.write_str(
                "\nWARNING: no RowKey begins as the template does; is its first literal mistyped?",
            )?;
        }
        for row in &self.kept {
            write!(f, "\nkept {row}")?;
        }
        match &self.ended {
            Some(error) => write!(f, "\nended before the last page: {error}"),
            None => Ok(()),
        }
    }
}

/// A row whose key reads as that of the former row, and that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KeptRow {
    /// Its PartitionKey.
    pub partition_key: String,
    /// Its RowKey.
    pub row_key: String,
    /// The reason.
    pub reason: KeptReason,
}

/// The reason to keep a row whose key reads as that of the former row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeptReason {
    /// Its key reads as that of a row which a type has now. If no entity expects it, `verify` finds it as an orphan.
    Present {
        /// The entity's type name.
        entity: String,
        /// The row's name.
        row: String,
    },
    /// It is marked as a row of another kind of entity, or not marked as one of this kind.
    OtherKind {
        /// Its property `Entity_Kind`; empty without one.
        entity_kind: String,
    },
    /// It has a property that the former row does not have, so it may be of another type. Name it with
    /// [`FormerRow::property`](super::FormerRow::property) if the row had it.
    UnknownProperty {
        /// The property's name.
        property: String,
    },
    /// It lacks a property that each former row has.
    MissingProperty {
        /// The property's name.
        property: String,
    },
    /// It cannot be read as the earlier type, or its properties make another key.
    OtherContent,
    /// It is the mark of a row that was moved.
    Moved,
    /// Another writer wrote it after it was read. Start again.
    Changed,
}

impl fmt::Display for KeptRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} / {:?}: {}", self.partition_key, self.row_key, self.reason)
    }
}

impl fmt::Display for KeptReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present { entity, row } => {
                write!(f, "may be row `{}` of `{}`", Printable(row), Printable(entity))
            }
            Self::OtherKind { entity_kind } => write!(f, "its kind is {entity_kind:?}"),
            Self::UnknownProperty { property } => {
                write!(f, "has the unknown property `{}`", Printable(property))
            }
            Self::MissingProperty { property } => {
                write!(f, "lacks the property `{}`", Printable(property))
            }
            Self::OtherContent => f.write_str("is not what the earlier type stored under its key"),
            Self::Moved => f.write_str("says where an entity was moved"),
            Self::Changed => f.write_str("was written after it was read"),
        }
    }
}
