//! How a page becomes part of what was read: cut at its range's end, learned from, queued.

use super::delivery::QueuedPage;
use super::density::POOR_PAGE;
use super::forecast::Forecast;
use super::page_keys::PageKeys;
use super::position::Position;
use super::prefix::PrefixStep;
use super::range::{Axis, RangePhase, key_range};
use super::ranges::Ranges;
use super::rules::LOOK_AHEAD;
use super::state::ScanState;
use crate::entity::RowHead;
use crate::error::{Result, ScanError};
use crate::model::Continuation;

/// The outcome of a page.
#[derive(Debug)]
pub(super) struct Committed {
    /// Rows from the first that lie in the range.
    pub keep: usize,
    /// Whether the range is read to its end.
    pub ended: bool,
    /// The range that the same worker reads next.
    pub then: Option<Position>,
    pub first: RowHead,
    pub last: RowHead,
}

impl<T> ScanState<T> {
    /// Takes a page into account. Rows at or after the range's end belong to another range now.
    pub(super) fn commit(
        &mut self,
        start: &Position,
        page: &PageKeys<'_>,
        continuation: Option<Continuation>,
    ) -> Result<Committed> {
        let Self { rules, ranges, delivery, .. } = self;
        ranges.exhausted = false;
        let (found, more) = (page.len(), continuation.is_some());
        let range = ranges.get(start);
        let end = range.and_then(|range| range.end.clone());
        let owned = range.map_or(Ok(found), |range| range.owned(page))?;
        delivery.dropped += (found - owned) as u64;
        let keep = delivery.claim(page, owned);
        let read_up = keep == owned && (!more || owned < found);
        let is_first = ranges.learn_from_split(start, found, more);
        let pages = ranges.learned.learn(page, keep, more)?;
        ranges.learned.pages += pages;
        ranges.learned.poor += u64::from(is_first && pages < POOR_PAGE);
        let (first, last) = match keep.checked_sub(1) {
            Some(last) => (page.at(0)?, page.at(last)?),
            None => Default::default(),
        };
        let (keys_only, sparse) = (rules.keys_only, rules.is_sparse());
        let mut committed = Committed { keep, ended: read_up, then: None, first, last };
        let Some(range) = ranges.by_start.get_mut(start) else { return Ok(committed) };
        range.pages += pages;
        if rules.ordered
            && let Axis::Rows(partition) = &range.axis
        {
            ranges.learned.sizes.read(partition, pages);
        }
        range.request.continuation = continuation;
        if page.leaves_out() {
            // Many rows left out would cost many small requests.
            range.request.top = rules.page_size;
        }
        if keep > 0 {
            let Committed { first, last, .. } = &committed;
            let from = range.committed.as_ref().unwrap_or(start);
            if rules.ordered && from.is_after(first) {
                let RowHead { partition_key, row_key } = committed.first;
                return Err(ScanError::OutOfOrder { partition_key, row_key }.into());
            }
            range.advance(first, last, pages, sparse || keys_only, !keys_only);
            if rules.ordered {
                range.learn_ahead(pages);
            }
            delivery.expect(start);
            let skips_partition = keys_only && page.ends_in_found_partition(keep)?;
            let behind = if skips_partition {
                Position::after_partition(&last.partition_key)
            } else {
                Position::after(last)
            };
            committed.ended |= end.as_ref().is_some_and(|end| *end <= behind);
            if skips_partition {
                committed.ended |= range.axis != Axis::Partitions;
                range.request.keys = key_range(&range.axis, &behind, end.as_ref(), &rules.rows);
                range.request.continuation = None;
            }
            range.committed = Some(behind);
            if !committed.ended {
                ranges.descend(start, &mut committed);
            }
        }
        if committed.ended
            && let Some(range) = ranges.get_mut(start)
        {
            // Nothing is left to steal or to cut, though the range ends only when its rows are queued.
            range.current = None;
            range.single_partition = None;
            range.forecast = Forecast::default();
            range.left = None;
        }
        Ok(committed)
    }

    /// Queues a page's rows, which take that many bytes beside themselves. Ends its range if it is read to its end.
    pub(super) fn push(
        &mut self,
        start: &Position,
        committed: &Committed,
        rows: Vec<T>,
        beside: usize,
    ) {
        self.delivery.requested -= 1;
        if committed.ended {
            self.ranges.release(start);
        }
        if committed.keep > 0 {
            let Committed { first, last, .. } = committed;
            let (first, last) = (first.clone(), last.clone());
            let bytes = beside + rows.len() * size_of::<T>();
            self.delivery.push(QueuedPage { range: start.clone(), rows, first, last, bytes });
        }
        if committed.ended {
            self.ranges.finish(start);
            self.forget_settled(start);
        }
    }
}

impl Ranges {
    /// Learns from the first answer of a part split off how far ahead stealers may start. Returns
    /// whether it was the first.
    fn learn_from_split(&mut self, start: &Position, found: usize, more: bool) -> bool {
        if found == 0 && more {
            return false;
        }
        let parent = self.get_mut(start).and_then(|range| range.parent.take());
        let Some((victim, distance)) = parent else { return false };
        self.learned.misses += u64::from(found == 0);
        if let Some(victim) = self.get_mut(&victim) {
            victim.ahead = if found == 0 {
                victim.ahead.min(distance / 4.0).max(2.0)
            } else {
                victim.ahead.max(2.0 * distance).min(LOOK_AHEAD)
            };
        }
        true
    }

    /// In a prefix scan: goes deeper, once enough pages are read.
    fn descend(&mut self, start: &Position, committed: &mut Committed) {
        let Some(range) = self.by_start.get_mut(start) else { return };
        let Some((step, pages)) = &mut range.step else { return };
        *pages = pages.saturating_sub(1);
        if *pages > 0 {
            return;
        }
        let steps = step.next(Some(&committed.last), true, !self.rules.keys_only);
        let prefix_of = |step: &PrefixStep| match step {
            PrefixStep::PrefixQuery { prefix, .. } => Some(prefix.clone()),
            _ => None,
        };
        let goes_on = steps.last().and_then(prefix_of) == prefix_of(step);
        let mut held = std::mem::take(&mut range.held);
        range.end.clone_from(&range.committed);
        committed.ended = true;
        let mut starts = self.follow(steps);
        committed.then = if goes_on { starts.pop() } else { None };
        held.extend(starts);
        let holder = committed.then.as_ref().unwrap_or(start);
        let later = self.rules.rounds.1;
        if let Some(range) = self.by_start.get_mut(holder) {
            range.held = held;
            if committed.then.is_some() {
                range.phase = RangePhase::Running;
                range.step = range.step.take().map(|(step, _)| (step, later));
            }
        }
    }
}
