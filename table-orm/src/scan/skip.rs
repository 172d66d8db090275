//! The rows of a scan that cannot be read, and are left out.
//!
//! Invariants: such a row is told of by the range that owns it, once, and counts as read; it is none
//! of the rows that a limit means. So rows are tried before their page is committed, outside the lock,
//! and told of behind it.

use crate::entity::{ReadRow, SkipUnreadable, read_page, read_row};
use crate::property::PropertyError;
use serde_json::value::RawValue;
use std::fmt;

/// How rows are left out.
pub(super) struct Skipping<T> {
    told: SkipUnreadable,
    tries: fn(usize, &[u8], &[&RawValue]) -> Tried<T>,
}

/// The rows of a page, each read or not.
pub(super) type Tried<T> = Vec<Result<T, PropertyError>>;

impl<T> fmt::Debug for Skipping<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Skipping")
    }
}

impl<T: ReadRow> Skipping<T> {
    pub fn new(told: SkipUnreadable) -> Self {
        let tries = |row, body: &[u8], rows: &[&RawValue]| match read_page(row, body) {
            Ok(rows) => rows.into_iter().map(Ok).collect(),
            Err(_) => rows.iter().map(|json| read_row(row, json.get().as_bytes())).collect(),
        };
        Self { told, tries }
    }
}

impl<T> Skipping<T> {
    /// Reads all rows of a page.
    pub fn tried(&self, row: usize, body: &[u8], rows: &[&RawValue]) -> Tried<T> {
        (self.tries)(row, body, rows)
    }

    /// Those of the first `keep` rows that could be read.
    pub fn rows(&self, tried: Tried<T>, keep: usize) -> Result<Vec<T>, PropertyError> {
        let taken =
            tried.into_iter().take(keep).map(|row| SkipUnreadable::take(Some(&self.told), row));
        taken.filter_map(Result::transpose).collect()
    }
}
