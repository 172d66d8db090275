//! What a scan makes of the rows of a page.
//!
//! Invariants: an unreadable row is reported by the range that owns it, once. It counts as read, but
//! not towards a limit. So all rows are tried before their page is committed, outside the lock, and
//! reported after the commit.

use super::page_keys::key;
use crate::entity::{ReadRow, SkipUnreadable, read_page, read_row, read_rows};
use crate::error::Result;
use crate::property::PropertyError;
use serde_json::value::RawValue;
use std::fmt;

/// The rows themselves.
pub(in crate::scan) fn typed_rows<T: ReadRow>(
    row: usize,
    body: &[u8],
    kept: &[&RawValue],
    whole: bool,
) -> Result<Vec<T>> {
    if whole {
        return Ok(read_rows::<T>(row, body, None, usize::MAX)?);
    }
    kept.iter().map(|json| Ok(read_row::<T>(row, json.get().as_bytes())?)).collect()
}

/// Only how many there are.
pub(in crate::scan) fn no_rows(_: usize, _: &[u8], kept: &[&RawValue], _: bool) -> Result<Vec<()>> {
    Ok(vec![(); kept.len()])
}

/// Their PartitionKeys, each once.
pub(in crate::scan) fn partition_keys(
    _: usize,
    _: &[u8],
    kept: &[&RawValue],
    _: bool,
) -> Result<Vec<String>> {
    let mut keys: Vec<String> = Vec::new();
    for row in kept {
        let key = key(row)?.partition_key;
        if keys.last() != Some(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// How unreadable rows are left out.
pub(in crate::scan) struct SkipRows<T> {
    skip: SkipUnreadable,
    try_rows: fn(usize, &[u8], &[&RawValue]) -> TriedRows<T>,
}

/// The rows of a page, each read or not.
pub(in crate::scan) type TriedRows<T> = Vec<Result<T, PropertyError>>;

impl<T> fmt::Debug for SkipRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SkipRows")
    }
}

impl<T: ReadRow> SkipRows<T> {
    pub fn new(skip: SkipUnreadable) -> Self {
        let try_rows = |row, body: &[u8], rows: &[&RawValue]| match read_page(row, body) {
            Ok(rows) => rows.into_iter().map(Ok).collect(),
            Err(_) => rows.iter().map(|json| read_row(row, json.get().as_bytes())).collect(),
        };
        Self { skip, try_rows }
    }
}

impl<T> SkipRows<T> {
    /// Reads all rows of a page.
    pub fn try_rows(&self, row: usize, body: &[u8], rows: &[&RawValue]) -> TriedRows<T> {
        (self.try_rows)(row, body, rows)
    }

    /// The readable ones of the first `keep` rows; reports the others.
    pub fn take(&self, tried: TriedRows<T>, keep: usize) -> Result<Vec<T>, PropertyError> {
        let first = tried.into_iter().take(keep);
        let taken = first.map(|row| SkipUnreadable::take(Some(&self.skip), row));
        taken.filter_map(Result::transpose).collect()
    }
}
