//! Where a page of a query is, and where the pages beside it are.
//!
//! Invariant: pages that follow each other share no key, forward and back: a page that is reached from
//! after ends before the first key of the page that was left, whatever was written in between.

use super::earlier_pages::{
    EarlierPages, read_continuation, read_text, write_continuation, write_text,
};
use crate::model::Continuation;

/// Where a page is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PagePlace {
    pub start: PageStart,
    /// Where the page ends at the latest, which is where the page after it starts. Known of a page that
    /// is reached backwards.
    pub end: Option<PageStart>,
    earlier: EarlierPages<Continuation>,
}

/// Where a page starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PageStart {
    /// As the store said; neither key for the first page.
    pub continuation: Continuation,
    /// The PartitionKey and RowKey that no row of the page is below.
    pub key: Option<(String, String)>,
}

impl From<Continuation> for PageStart {
    fn from(continuation: Continuation) -> Self {
        Self { continuation, key: None }
    }
}

/// A page that starts there, and has no earlier one.
impl From<PageStart> for PagePlace {
    fn from(start: PageStart) -> Self {
        Self { start, ..Self::default() }
    }
}

impl PagePlace {
    /// The page after this one.
    pub fn after(&self, start: PageStart) -> Self {
        let earlier = self.earlier.push(&self.start.continuation, &start.continuation);
        Self { start, end: None, earlier }
    }

    /// The page before this one, whose first row has the keys that `first` returns. `None` for the first page, and
    /// where the page before is forgotten.
    pub fn before(&self, first: impl FnOnce() -> Option<(String, String)>) -> Option<Self> {
        let (continuation, earlier) = self.earlier.pop(&self.start.continuation)?;
        let end = match first().or_else(|| self.start.key.clone()) {
            key @ Some(_) => Some(PageStart { key, ..self.start.clone() }),
            // No row of this page was seen, so the one before may reach as far as this one.
            None => self.end.clone(),
        };
        Some(Self { start: continuation.into(), end, earlier })
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.start.write(bytes, &PageStart::default());
        bytes.push(self.end.is_some().into());
        if let Some(end) = &self.end {
            end.write(bytes, &self.start);
        }
        bytes.extend_from_slice(self.earlier.as_bytes());
    }

    /// `None` for bytes that are no place.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let start = PageStart::read(&mut bytes, &PageStart::default())?;
        let (has_end, mut bytes) = bytes.split_first()?;
        let end = match has_end {
            0 => None,
            1 => Some(PageStart::read(&mut bytes, &start)?),
            _ => return None,
        };
        Some(Self { start, end, earlier: EarlierPages::from_bytes(bytes)? })
    }
}

impl PageStart {
    /// Where the page after one that starts here starts. While no row is found, none below the key is
    /// wanted; `first` returns the keys of the first row.
    pub fn followed_by(
        &self,
        continuation: Continuation,
        first: impl FnOnce() -> Option<(String, String)>,
    ) -> Self {
        let key = self.key.clone().filter(|_| first().is_none());
        Self { continuation, key }
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>, base: &Self) {
        write_continuation(bytes, &self.continuation, &base.continuation);
        for (text, base) in self.keys().into_iter().zip(base.keys()) {
            write_text(bytes, text, base);
        }
    }

    pub(super) fn read(bytes: &mut &[u8], base: &Self) -> Option<Self> {
        let continuation = read_continuation(bytes, &base.continuation)?;
        let [partition_key, row_key] = base.keys();
        let key = read_text(bytes, partition_key)?.zip(read_text(bytes, row_key)?);
        Some(Self { continuation, key })
    }

    fn keys(&self) -> [Option<&str>; 2] {
        [self.key.as_ref().map(|key| &*key.0), self.key.as_ref().map(|key| &*key.1)]
    }
}
