//! Where a page of several queries is, which are read one after another, and where the pages before it are.
//!
//! Invariants: each start is in one of the queries, so a place is as short for 10,000 queries as for two. Pages
//! that follow each other share no row, forward and back, as those of [one query](super::page_place).

use super::earlier_pages::{
    EarlierPages, EarlierStart, read_continuation, read_number, write_continuation, write_number,
};
use super::page_place::PageStart;
use crate::model::Continuation;

/// Where a page of several queries is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ManyPlace {
    pub start: ManyStart,
    /// Where the page ends at the latest. Known of a page that is reached backwards.
    pub end: Option<ManyStart>,
    earlier: EarlierPages<Earlier>,
}

/// Where a page of several queries starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ManyStart {
    /// The number of the query that it starts in.
    pub query: usize,
    /// The rows of that query on the pages before, where their number is limited; otherwise 0.
    pub read: usize,
    /// Where in that query.
    pub start: PageStart,
}

/// The start of an earlier page: its query, the rows before it, and what the store said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Earlier(usize, usize, Continuation);

impl EarlierStart for Earlier {
    fn write(&self, bytes: &mut Vec<u8>, next: &Self) {
        write_number(bytes, self.0);
        write_number(bytes, self.1);
        write_continuation(bytes, &self.2, &next.2);
    }

    fn read(bytes: &mut &[u8], next: &Self) -> Option<Self> {
        let (query, read) = (read_number(bytes)?, read_number(bytes)?);
        Some(Self(query, read, read_continuation(bytes, &next.2)?))
    }

    fn skip(bytes: &mut &[u8]) -> Option<()> {
        for _ in 0..2 {
            read_number(bytes)?;
        }
        Continuation::skip(bytes)
    }
}

impl ManyPlace {
    /// The page after this one.
    pub fn after(&self, start: ManyStart) -> Self {
        let earlier = self.earlier.push(&self.start.as_earlier(), &start.as_earlier());
        Self { start, end: None, earlier }
    }

    /// The page before this one, whose first row is at `first`. `None` for the first page, and where the page
    /// before is forgotten.
    pub fn before(&self, first: Option<ManyStart>) -> Option<Self> {
        let (Earlier(query, read, continuation), earlier) =
            self.earlier.pop(&self.start.as_earlier())?;
        let start = ManyStart { query, read, start: continuation.into() };
        let known = Some(&self.start).filter(|start| start.start.key.is_some());
        // If no row of this page was seen, the one before may reach as far as this one.
        let end = first.or_else(|| known.or(self.end.as_ref()).cloned());
        Some(Self { start, end, earlier })
    }

    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.start.write(bytes, &PageStart::default());
        bytes.push(self.end.is_some().into());
        if let Some(end) = &self.end {
            end.write(bytes, &self.start.start);
        }
        bytes.extend_from_slice(self.earlier.as_bytes());
    }

    /// `None` for bytes that are no place.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let start = ManyStart::read(&mut bytes, &PageStart::default())?;
        let (has_end, mut bytes) = bytes.split_first()?;
        let end = match has_end {
            0 => None,
            1 => Some(ManyStart::read(&mut bytes, &start.start)?),
            _ => return None,
        };
        Some(Self { start, end, earlier: EarlierPages::from_bytes(bytes)? })
    }
}

impl ManyStart {
    fn as_earlier(&self) -> Earlier {
        Earlier(self.query, self.read, self.start.continuation.clone())
    }

    fn write(&self, bytes: &mut Vec<u8>, base: &PageStart) {
        write_number(bytes, self.query);
        write_number(bytes, self.read);
        self.start.write(bytes, base);
    }

    fn read(bytes: &mut &[u8], base: &PageStart) -> Option<Self> {
        let (query, read) = (read_number(bytes)?, read_number(bytes)?);
        Some(Self { query, read, start: PageStart::read(bytes, base)? })
    }
}
