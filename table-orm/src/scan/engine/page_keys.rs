//! The keys of a page's rows, read where they are needed: a few of each page.

use crate::entity::{RowHead, read_row, split_page};
use crate::property::PropertyError;
use serde_json::value::RawValue;

/// The rows of a page, unread.
#[derive(Debug)]
pub(in crate::scan) struct PageKeys<'a> {
    rows: Vec<&'a RawValue>,
    /// The indices of rows that are left out, in order.
    left_out: Vec<usize>,
}

impl<'a> PageKeys<'a> {
    pub fn read(body: &'a [u8]) -> Result<Self, PropertyError> {
        split_page(body).map(|rows| Self { rows, left_out: Vec::new() })
    }

    /// The same page. The rows at those indices, in order, do not count towards a limit.
    pub fn without(self, left_out: Vec<usize>) -> Self {
        Self { left_out, ..self }
    }

    /// How many of the first `rows` rows to take to get the first `most` that are not left out, and
    /// how many those are.
    pub fn wanted(&self, rows: usize, most: usize) -> (usize, usize) {
        let before = |index: usize| self.left_out.partition_point(|at| *at < index);
        // Each row left out before the end moves the end by one.
        let end = self.left_out.iter().fold(most, |end, at| end.saturating_add((*at < end).into()));
        let rows = rows.min(end);
        (rows, rows - before(rows))
    }

    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// The key of a row.
    pub fn at(&self, index: usize) -> Result<RowHead, PropertyError> {
        self.rows.get(index).map_or_else(|| Ok(RowHead::default()), |row| key(row))
    }

    /// How many rows, from the first, match a condition that no later row matches.
    pub fn count(&self, mut before: impl FnMut(&RowHead) -> bool) -> Result<usize, PropertyError> {
        let (mut from, mut to) = (0, self.rows.len());
        while from < to {
            let middle = from.midpoint(to);
            if before(&self.at(middle)?) { from = middle + 1 } else { to = middle }
        }
        Ok(from)
    }

    /// Whether the last of the first `rows` rows lies in the partition of one that is not left out.
    pub fn ends_in_found_partition(&self, rows: usize) -> Result<bool, PropertyError> {
        let mut found = (0..rows).rev().filter(|index| self.left_out.binary_search(index).is_err());
        match found.next() {
            Some(found) => Ok(self.at(found)?.partition_key == self.at(rows - 1)?.partition_key),
            None => Ok(false),
        }
    }

    /// Whether rows are left out.
    pub const fn leaves_out(&self) -> bool {
        !self.left_out.is_empty()
    }
}

/// The key of a row.
fn key(row: &RawValue) -> Result<RowHead, PropertyError> {
    read_row::<RowHead>(0, row.get().as_bytes())
}
