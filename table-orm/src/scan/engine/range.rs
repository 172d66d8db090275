//! One range of a scan: keys that one worker at a time reads from their start.
//!
//! Invariant: the ranges of a scan never overlap. A range's start never changes; its end only
//! moves down, and never below what has been committed.

use super::forecast::Forecast;
use super::position::{Position, max, min, span};
use super::prefix::PrefixStep;
use super::rules::Rules;
use crate::query::{KeyRange, RowQuery, Span};

/// Which keys a range is measured and split by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scan) enum Axis {
    /// PartitionKeys.
    Partitions,
    /// The RowKeys of one partition.
    Rows(String),
}

/// Who works on a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scan) enum RangePhase {
    /// Nobody yet.
    Waiting,
    /// A worker.
    Running,
    /// Nobody: its rows are too far ahead of those handed out.
    Parked,
    /// It is read to its end.
    Done,
}

/// A page that lay in one partition: that, its first and last RowKey, and its size in pages.
#[derive(Debug, Clone)]
pub(in crate::scan) struct SinglePartition {
    pub partition: String,
    pub first: String,
    pub last: String,
    pub pages: f64,
    /// The page before ended in that partition too, so the partition is larger than a page. Otherwise
    /// it may have ended with this page.
    pub large: bool,
}

#[derive(Debug)]
pub(in crate::scan) struct Range {
    pub axis: Axis,
    /// `None` is the end of the table.
    pub end: Option<Position>,
    pub phase: RangePhase,
    /// The next page. Its keys do not change while `end` moves.
    pub request: RowQuery,
    /// The first key seen, the last one, and the start of the last page, on the axis.
    pub first: Option<String>,
    pub current: Option<String>,
    pub page: Option<String>,
    /// What was read, in pages.
    pub pages: f64,
    pub single_partition: Option<SinglePartition>,
    /// A stealer has tried to split it since its last page.
    pub tried: bool,
    /// No key was found to split it at since then.
    pub unsplittable: bool,
    /// The estimated pages left, since its last page or split.
    pub left: Option<f64>,
    /// How many pages ahead a stealer may start.
    pub ahead: f64,
    /// The range it was split from, and how many pages ahead.
    pub parent: Option<(Position, f64)>,
    /// What is known of the keys ahead, where rows leave in order.
    pub(super) forecast: Forecast,
    /// Its end has moved since the request was made.
    pub is_cut: bool,
    /// What the prefix scan does after a page, and how many more pages before it does so.
    pub step: Option<(PrefixStep, u32)>,
    /// Ranges to be released when this one ends.
    pub held: Vec<Position>,
    /// Behind the last row that was committed.
    pub committed: Option<Position>,
}

impl Range {
    pub fn new(axis: Axis, end: Option<Position>, request: RowQuery, ahead: f64) -> Self {
        Self {
            axis,
            end,
            phase: RangePhase::Waiting,
            request,
            first: None,
            current: None,
            page: None,
            pages: 0.0,
            single_partition: None,
            tried: false,
            unsplittable: false,
            left: None,
            ahead,
            parent: None,
            forecast: Forecast::default(),
            is_cut: false,
            step: None,
            held: Vec::new(),
            committed: None,
        }
    }

    /// Makes the request end where the range now ends, if the rows it has yet to return are known by
    /// their keys alone. Otherwise it goes on, and rows after the end are dropped.
    pub fn narrow(&mut self, rules: &Rules) {
        self.is_cut = false;
        let read_up = !rules.is_sparse() && !rules.keys_only;
        if let (Axis::Rows(_), Some(from), true) = (&self.axis, &self.committed, read_up) {
            self.request.keys = key_range(&self.axis, from, self.end.as_ref(), &rules.rows);
            self.request.continuation = None;
        }
    }

    /// The large partition that its last page lay in.
    pub fn large_partition(&self) -> Option<&SinglePartition> {
        let page = self.single_partition.as_ref();
        page.filter(|page| page.large && self.axis == Axis::Partitions)
    }

    /// The upper bound on the axis; `None` is the end of the table or of the partition.
    pub fn hi(&self) -> Option<&str> {
        let end = self.end.as_ref()?;
        match &self.axis {
            Axis::Partitions => Some(&end.pk),
            Axis::Rows(pk) => (end.pk == *pk).then_some(end.rk.as_str()),
        }
    }

    /// The partition it lies in, or seems to.
    pub fn partition(&self) -> Option<&str> {
        match (&self.axis, &self.single_partition) {
            (Axis::Rows(pk), _) => Some(pk),
            (Axis::Partitions, Some(page)) => Some(&page.partition),
            (Axis::Partitions, None) => None,
        }
    }
}

/// The keys of a range, as a query names them; `rows` are the RowKeys the scan is limited to.
pub(in crate::scan) fn key_range(
    axis: &Axis,
    start: &Position,
    end: Option<&Position>,
    rows: &(String, Option<String>),
) -> KeyRange {
    match axis {
        Axis::Partitions => KeyRange {
            partition: span(&start.pk, end.map(|end| end.pk.as_str())),
            row: span(&rows.0, rows.1.as_deref()),
        },
        Axis::Rows(pk) => {
            let lo = max(start.rk.clone(), rows.0.clone());
            let hi = end.filter(|end| end.pk == *pk).map(|end| end.rk.clone());
            let hi = min(hi, rows.1.clone());
            KeyRange { partition: Span::Exact(pk.clone()), row: span(&lo, hi.as_deref()) }
        }
    }
}

/// The ranges that make up what lies between two positions, each readable by one query.
pub(in crate::scan) fn simple_ranges(
    start: Position,
    end: Option<Position>,
) -> Vec<(Axis, Position, Option<Position>)> {
    let mut ranges = Vec::new();
    let mut start = start;
    let behind = Position::after_partition(&start.pk);
    let within = end.as_ref().is_some_and(|end| *end <= behind);
    if within || !start.rk.is_empty() {
        let stop = end.clone().filter(|_| within).unwrap_or_else(|| behind.clone());
        if start < stop {
            ranges.push((Axis::Rows(start.pk.clone()), start, Some(stop)));
        }
        if within {
            return ranges;
        }
        start = behind;
    }
    match end {
        Some(end) if !end.rk.is_empty() => {
            let last = Position::partition(end.pk.clone());
            if start < last {
                ranges.push((Axis::Partitions, start, Some(last.clone())));
            }
            ranges.push((Axis::Rows(end.pk.clone()), last, Some(end)));
        }
        end if end.as_ref().is_none_or(|end| start < *end) => {
            ranges.push((Axis::Partitions, start, end));
        }
        _ => {}
    }
    ranges
}

/// The request for the first rows of a scan; `None` where there are none to read.
pub(in crate::scan) fn first_request(rules: Rules) -> Option<RowQuery> {
    let Some(rest) = rules.rest() else { return Some(rules.query) };
    let mut ranges = rest.into_iter().flat_map(|(start, end)| simple_ranges(start, end));
    let (axis, start, end) = ranges.next()?;
    let keys = key_range(&axis, &start, end.as_ref(), &rules.rows);
    Some(RowQuery { keys, ..rules.query })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_two_positions_takes_at_most_three_queries() {
        let rows = |pk: &str, from: &str, to: Position| {
            (Axis::Rows(pk.to_owned()), Position::new(pk, from), Some(to))
        };
        let all = simple_ranges(Position::default(), None);
        assert_eq!(all, [(Axis::Partitions, Position::default(), None)]);
        let one = simple_ranges(Position::partition("a"), Some(Position::after_partition("a")));
        assert_eq!(one, [rows("a", "", Position::after_partition("a"))]);
        let three = simple_ranges(Position::new("a", "5\0"), Some(Position::new("c", "7")));
        let between =
            (Axis::Partitions, Position::partition("a\0"), Some(Position::partition("c")));
        let [first, last] = [
            rows("a", "5\0", Position::after_partition("a")),
            rows("c", "", Position::new("c", "7")),
        ];
        assert_eq!(three, [first, between, last]);
        let part = simple_ranges(Position::new("a", "5"), Some(Position::new("a", "7")));
        assert_eq!(part, [rows("a", "5", Position::new("a", "7"))]);
    }
}
