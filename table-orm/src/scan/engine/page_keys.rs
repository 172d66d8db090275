//! The keys of a page's rows, read where they are needed: a few of each page.

#[cfg(feature = "distributed")]
use crate::entity::{OwnRows, read_page};
use crate::entity::{RowHead, read_keys};
use crate::property::PropertyError;
use std::ops::Range;

/// The rows of a page, and where the text of each is.
#[derive(Debug)]
pub(in crate::scan) struct PageKeys<'a> {
    body: &'a [u8],
    texts: Vec<Range<usize>>,
    /// The indices of rows that are left out, in order.
    left_out: Vec<usize>,
}

impl<'a> PageKeys<'a> {
    /// The rows at the indices `left_out`, in order, do not count towards a limit.
    pub const fn new(body: &'a [u8], texts: Vec<Range<usize>>, left_out: Vec<usize>) -> Self {
        Self { body, texts, left_out }
    }

    /// All rows count.
    #[cfg(feature = "distributed")]
    pub fn read(body: &'a [u8]) -> Result<Self, PropertyError> {
        let texts = read_page::<RowHead>(&OwnRows::ANY, body)?.texts;
        Ok(Self::new(body, texts, Vec::new()))
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
        self.texts.len()
    }

    /// The key of a row.
    pub fn at(&self, index: usize) -> Result<RowHead, PropertyError> {
        let text = self.texts.get(index).and_then(|text| self.body.get(text.clone()));
        text.map_or_else(|| Ok(RowHead::default()), read_keys)
    }

    /// How many rows, from the first, match a condition that no later row matches.
    pub fn count(&self, mut before: impl FnMut(&RowHead) -> bool) -> Result<usize, PropertyError> {
        let (mut from, mut to) = (0, self.texts.len());
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
