//! How many rows a scan has left, estimated from its ranges' rows alone.
//!
//! The keys of all ranges make up a line. The part of it that a range has read yields an estimate of
//! what it has left; a range that was not begun counts as dense as the one before it. Neither counts as
//! larger than all ranges before it, because the line may continue where keys do not. A range that is not read to its
//! end has one row at least, so a scan seems whole only when it is.

use super::rows::{Pair, RangeRow, RangeState};
use crate::scan::engine::KeyModels;

/// The rows left in these ranges, which are all of a scan; `None` if that cannot be estimated.
pub(super) fn rows_left(mut ranges: Vec<RangeRow>) -> Option<u64> {
    if ranges.iter().all(|range| range.state == RangeState::Done) {
        return Some(0);
    }
    let mut models = KeyModels::default();
    for range in &ranges {
        let keys = [Some(&range.from), range.to.as_ref(), range.cursor.as_ref()];
        for (partition_key, row_key) in keys.into_iter().flatten() {
            models.partition.learn(partition_key);
            models.row.learn(row_key);
        }
    }
    ranges.sort_by_key(RangeRow::begin);
    let (mut left, mut all) = (0.0, 0.0);
    let mut before: Option<(&Pair, f64)> = None;
    for range in &ranges {
        let (rows, to) = (range.rows as f64, range.to.as_ref());
        let behind = |from, at, rows| {
            let (read, left) = models.line(from, at, to);
            (read > 0.0).then(|| rows * left / read)
        };
        let begun = || behind(&range.from, range.cursor.as_ref()?, rows);
        let waiting = || before.and_then(|(from, rows)| behind(from, &range.from, rows));
        let (rest, least): (f64, f64) = match range.state {
            RangeState::Done => (0.0, 0.0),
            _ => (begun().or_else(waiting).unwrap_or_default(), 1.0),
        };
        let most = if before.is_some() { all } else { f64::INFINITY };
        let rest = rest.min(most);
        left += rest.max(least);
        all += rows + rest;
        before = Some((&range.from, rows + rest));
    }
    // Without an upper bound, the length of the first range is unknown.
    (all > 0.0 && ranges.first()?.to.is_some()).then_some(left as u64)
}

impl KeyModels {
    /// How much of the keys' line lies between the first two keys, and after them.
    fn line(&self, from: &Pair, at: &Pair, to: Option<&Pair>) -> (f64, f64) {
        if from.0 == at.0 {
            let to = to.filter(|to| to.0 == at.0).map(|to| to.1.as_str());
            self.row.distance(&from.1, &at.1, to)
        } else {
            self.partition.distance(&from.0, &at.0, to.map(|to| to.0.as_str()))
        }
    }
}
