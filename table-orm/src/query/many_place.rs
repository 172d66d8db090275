//! Where a page of several queries is, which are read one after another.
//!
//! Invariant: it names a place in one of the queries, so it is as short for 10,000 queries as for two.

use super::earlier_pages::{read_continuation, read_number, write_continuation, write_number};
use crate::model::Continuation;

/// Where a page of several queries starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ManyPlace {
    /// The number of the query that it starts in.
    pub query: usize,
    /// The rows of that query on the pages before, where their number is limited; otherwise 0.
    pub read: usize,
    /// Where in that query, as the store said; neither key at its start.
    pub start: Continuation,
}

impl ManyPlace {
    pub fn write(&self, bytes: &mut Vec<u8>) {
        write_number(bytes, self.query);
        write_number(bytes, self.read);
        write_continuation(bytes, &self.start, &Continuation::default());
    }

    /// `None` for bytes that are no place.
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let (query, read) = (read_number(&mut bytes)?, read_number(&mut bytes)?);
        let start = read_continuation(&mut bytes, &Continuation::default())?;
        bytes.is_empty().then_some(Self { query, read, start })
    }
}
