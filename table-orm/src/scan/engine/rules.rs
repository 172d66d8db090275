//! What a scan reads, and how its workers divide it.

use super::position::Position;
use crate::entity::RowHead;
use crate::query::RowQuery;

/// How many pages ahead of the range it splits a worker may start.
pub(in crate::scan) const LOOK_AHEAD: f64 = 64.0;

/// The way a scan divides the table among its workers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Splitter {
    /// Lets idle workers split the range with most left, at keys guessed from the keys seen. Needs no
    /// knowledge of the keys, splits single partitions too, and keeps to the rate that the service
    /// sustains. A table of one page costs one request.
    #[default]
    Adaptive,
    /// Walks the tree of PartitionKey prefixes, one character at a time, as Joel Verhagen has
    /// described ("How to run a distributed scan of Azure Table Storage", 2020). Takes two to three
    /// times the requests, never splits a partition, and slows down by back-off only.
    Prefix,
    /// Starts with the ranges between these PartitionKeys, then continues as [`Adaptive`].
    ///
    /// [`Adaptive`]: Self::Adaptive
    Keys(Vec<String>),
    /// Sends one request after the other.
    Serial,
}

/// What a scan reads, and how.
#[derive(Debug, Clone)]
pub(in crate::scan) struct Rules {
    /// The whole scan as one query: table, keys, filter, select and page size of each request.
    pub query: RowQuery,
    /// The page size to ask for where rows are left out; `None` for that of the store.
    pub page_size: Option<u16>,
    /// The PartitionKeys, half-open.
    pub partitions: (String, Option<String>),
    /// The RowKeys, half-open.
    pub rows: (String, Option<String>),
    /// The prefix of all PartitionKeys.
    pub prefix: String,
    pub splitter: Splitter,
    /// Pages a prefix query reads before it goes deeper: in its first round, and in later ones.
    pub rounds: (u32, u32),
    pub workers: usize,
    pub ordered: bool,
    /// The bytes of pages that may wait for earlier ones, where rows leave in order.
    pub buffer: usize,
    /// One row of each partition is enough.
    pub keys_only: bool,
    /// The most rows in all, or partition keys.
    pub limit: Option<usize>,
    /// The row after which the scan begins.
    pub after: Option<RowHead>,
}

impl Rules {
    /// What a scan reads that begins after a row, or lies in one partition, which its workers divide from
    /// the first page on. `None` where it begins at the start of several.
    pub fn rest(&self) -> Option<Vec<(Position, Option<Position>)>> {
        let (lo, hi) = &self.partitions;
        let behind = Position::after_partition(lo);
        if self.after.is_none() && self.is_adaptive() && hi.as_ref() == Some(&behind.pk) {
            return Some(vec![(Position::partition(lo.clone()), Some(behind))]);
        }
        let start = Position::after(self.after.as_ref()?).max(Position::partition(lo.clone()));
        let end = hi.clone().map(Position::partition);
        let left = end.as_ref().is_none_or(|end| start < *end);
        Some(left.then_some((start, end)).into_iter().collect())
    }

    /// Whether the service leaves out rows that it reads, so that a page does not measure its work.
    pub const fn is_sparse(&self) -> bool {
        self.query.filter.is_some() || !self.rows.0.is_empty() || self.rows.1.is_some()
    }

    /// Whether idle workers split ranges, and requests keep to a rate.
    pub const fn is_adaptive(&self) -> bool {
        matches!(self.splitter, Splitter::Adaptive | Splitter::Keys(_))
    }
}
