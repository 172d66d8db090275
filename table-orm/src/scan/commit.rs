//! How a page becomes part of what was read: cut at its range's end, learned from, queued.

use super::page_keys::PageKeys;
use super::place::{Place, ScanKey};
use super::prefix::Step;
use super::range::{Axis, Phase, QueuedPage, keys};
use super::state::State;
use crate::model::Continuation;
use crate::property::PropertyError;

/// What a page has come to.
#[derive(Debug)]
pub(super) struct Committed {
    /// Rows from the first that lie in the range.
    pub keep: usize,
    /// Whether the range is read to its end.
    pub ended: bool,
    /// The range that the same worker goes on with.
    pub then: Option<Place>,
    pub first: ScanKey,
    pub last: ScanKey,
}

impl<T> State<T> {
    /// Takes a page into account. Rows at or behind the range's end belong to another range now.
    pub fn commit(
        &mut self,
        place: &Place,
        page: &PageKeys<'_>,
        continuation: Option<Continuation>,
    ) -> Result<Committed, PropertyError> {
        self.running -= 1;
        self.barren = false;
        let (found, more) = (page.len(), continuation.is_some());
        let range = self.ranges.get(place);
        let end = range.and_then(|range| range.end.clone());
        let owned = range.map_or(Ok(found), |range| range.owned(page))?;
        self.report.dropped += (found - owned) as u64;
        let keep = self.wanted(page, owned)?;
        let read_up = keep == owned && (!more || owned < found);
        self.gallop(place, found, more);
        let pages = self.learn(page, keep, more)?;
        self.pages += pages;
        let (first, last) = match keep.checked_sub(1) {
            Some(last) => (page.at(0)?, page.at(last)?),
            None => Default::default(),
        };
        let (keys_only, sparse, rows) =
            (self.rules.keys_only, self.rules.is_sparse(), self.rules.rows.clone());
        let mut committed = Committed { keep, ended: read_up, then: None, first, last };
        let Some(range) = self.ranges.get_mut(place) else { return Ok(committed) };
        range.pages += pages;
        range.request.continuation = continuation;
        if keep > 0 {
            let Committed { first, last, .. } = &committed;
            range.advance(first, last, pages, sparse || keys_only, !keys_only);
            range.unsettled += 1;
            let behind = if keys_only {
                Place::after_partition(&last.partition_key)
            } else {
                Place::after(last)
            };
            committed.ended |= end.as_ref().is_some_and(|end| *end <= behind);
            if keys_only {
                committed.ended |= range.axis != Axis::Partitions;
                range.request.keys = keys(&range.axis, &behind, end.as_ref(), &rows);
                range.request.continuation = None;
            }
            range.committed = Some(behind);
            if !committed.ended {
                self.descend(place, &mut committed);
            }
        }
        if committed.ended
            && let Some(range) = self.ranges.get_mut(place)
        {
            // Nothing is left to steal.
            range.current = None;
        }
        Ok(committed)
    }

    /// How many of a page's first `owned` rows are still wanted; they count as found then.
    fn wanted(&mut self, page: &PageKeys<'_>, owned: usize) -> Result<usize, PropertyError> {
        let Some(limit) = self.rules.limit else { return Ok(owned) };
        let left = limit - self.found;
        let (rows, items) = if self.rules.keys_only {
            page.partitions(owned, left)?
        } else {
            page.wanted(owned, left)
        };
        self.found += items;
        Ok(rows)
    }

    /// Learns from a stolen range's first answer how far ahead thieves may start.
    fn gallop(&mut self, place: &Place, found: usize, more: bool) {
        let look_ahead = self.rules.look_ahead();
        if found == 0 && more {
            return;
        }
        let Some(range) = self.ranges.get_mut(place) else { return };
        let Some((victim, distance)) = range.parent.take() else { return };
        self.report.misses += u64::from(found == 0);
        if let Some(victim) = self.ranges.get_mut(&victim) {
            victim.ahead = if found == 0 {
                victim.ahead.min(distance / 4.0).max(2.0)
            } else {
                victim.ahead.max(2.0 * distance).min(look_ahead)
            };
        }
    }

    /// In a prefix scan: goes deeper, once as many pages are read as were asked for.
    fn descend(&mut self, place: &Place, committed: &mut Committed) {
        let Some(range) = self.ranges.get_mut(place) else { return };
        let Some((step, pages)) = &mut range.step else { return };
        *pages = pages.saturating_sub(1);
        if *pages > 0 {
            return;
        }
        let steps = step.next(Some(&committed.last), true, !self.rules.keys_only);
        let prefix_of = |step: &Step| match step {
            Step::PrefixQuery { prefix, .. } => Some(prefix.clone()),
            _ => None,
        };
        let goes_on = steps.last().and_then(prefix_of) == prefix_of(step);
        let mut held = std::mem::take(&mut range.held);
        range.end.clone_from(&range.committed);
        committed.ended = true;
        let mut places = self.follow(steps);
        committed.then = if goes_on { places.pop() } else { None };
        held.extend(places);
        let holder = committed.then.as_ref().unwrap_or(place);
        let later = self.rules.rounds.1;
        if let Some(range) = self.ranges.get_mut(holder) {
            range.held = held;
            if committed.then.is_some() {
                range.phase = Phase::Running;
                range.step = range.step.take().map(|(step, _)| (step, later));
            }
        }
    }

    /// Queues a page's rows, and ends its range if it is read to its end.
    pub fn push(&mut self, place: &Place, committed: &Committed, rows: Vec<T>) {
        if committed.ended {
            self.release(place);
        }
        let Some(range) = self.ranges.get_mut(place) else { return };
        if committed.keep > 0 {
            let Committed { keep, first, last, .. } = committed;
            let (first, last, read) = (first.clone(), last.clone(), *keep);
            range.queue.push_back(QueuedPage { range: place.clone(), rows, first, last, read });
            self.waiting.0 += 1;
            self.waiting.1 += read;
            if !self.rules.ordered {
                self.arrivals.push_back(place.clone());
            }
        }
        if committed.ended {
            range.phase = Phase::Done;
            self.open -= 1;
            if range.is_settled() {
                self.ranges.remove(place);
            }
        }
    }
}
