//! What all workers of a scan share, behind one lock.
//!
//! Invariant: the ranges partition what has not been delivered. A split and a page's commit both
//! happen under the lock, so each row is delivered by exactly one range.

use super::delivery::{Delivery, QueuedPage};
use super::position::Position;
use super::range::{Range, RangePhase};
use super::ranges::Ranges;
use super::report::ScanReport;
use super::rules::Rules;
use crate::entity::RowHead;
use crate::error::Error;
use crate::query::RowQuery;
use crate::scan::pace::ScanPace;
use crate::sync::Random;
use std::sync::Arc;

/// The ranges and who reads them, what the consumer gets, and the pace of the requests.
#[derive(Debug)]
pub(in crate::scan) struct ScanState<T> {
    pub rules: Arc<Rules>,
    pub ranges: Ranges,
    pub(super) delivery: Delivery<T>,
    pub(super) pace: ScanPace,
    /// An earlier scan with the same checkpoint has read everything.
    already_complete: bool,
}

/// What a worker does next.
pub(super) enum NextTask {
    Read(Position),
    Wait,
    End,
}

/// Whether a range's next page may be requested.
pub(super) enum Admission {
    Go(Box<RowQuery>, Option<String>),
    Wait,
    Park,
}

/// A range whose rows were not all delivered.
#[derive(Debug)]
pub(in crate::scan) struct Unsettled<'a> {
    pub start: &'a Position,
    /// `None` is the end of the table.
    pub end: Option<&'a Position>,
    /// The last row that the consumer is done with.
    pub delivered: Option<&'a RowHead>,
}

impl<T> ScanState<T> {
    pub fn new(rules: Arc<Rules>, random: Random) -> Self {
        Self {
            ranges: Ranges::new(Arc::clone(&rules)),
            delivery: Delivery::new(Arc::clone(&rules)),
            pace: ScanPace::new(rules.workers, random),
            already_complete: false,
            rules,
        }
    }

    /// Begins a new scan, or one with these ranges left to read.
    pub fn start(&mut self, saved: Option<Vec<(Position, Option<Position>)>>) {
        self.pace.start();
        self.already_complete = saved.as_ref().is_some_and(Vec::is_empty);
        match saved.or_else(|| self.rules.rest()) {
            Some(mut ranges) => {
                if self.rules.ordered {
                    join(&mut ranges);
                }
                ranges.into_iter().for_each(|(start, end)| self.ranges.seed(start, end));
            }
            None => self.ranges.begin(),
        }
    }

    pub fn stop(&mut self) {
        self.pace.stop();
        self.delivery.stopped = true;
    }

    /// What the scan has done so far.
    pub fn report(&self) -> ScanReport {
        let Self { ranges, delivery, pace, .. } = self;
        ScanReport {
            rows: delivery.rows,
            pages: delivery.pages,
            requests: pace.requests,
            misses: ranges.learned.misses,
            throttled: pace.throttled,
            dropped: delivery.dropped,
            ranges: ranges.made,
            elapsed: pace.elapsed(),
            already_complete: self.already_complete,
            hot_partitions: pace.limiter.hot(),
            held_bytes: delivery.most_bytes as u64,
        }
    }

    /// The ranges whose rows were not all delivered, in key order.
    pub fn unsettled(&self) -> impl Iterator<Item = Unsettled<'_>> {
        let left = self.ranges.iter().filter(|(start, range)| {
            range.phase != RangePhase::Done || !self.delivery.is_settled(start)
        });
        left.map(|(start, range)| {
            let (end, delivered) = (range.end.as_ref(), self.delivery.delivered(start));
            Unsettled { start, end, delivered }
        })
    }

    /// A request has brought a page of `rows` rows.
    pub fn answered(&mut self, partition: Option<&str>, rows: usize) {
        if self.rules.is_adaptive() {
            let (now, page) = (self.pace.now(), self.ranges.learned.page_rows());
            self.pace.limiter.answered(now, partition, rows as f64, page);
        }
    }

    /// What an idle worker does next.
    pub(super) fn next(&mut self) -> NextTask {
        if self.delivery.is_ended() {
            return NextTask::End;
        }
        let found = if self.rules.ordered {
            self.next_in_order()
        } else {
            self.ranges.ready.pop_front().or_else(|| {
                let steals = self.rules.is_adaptive();
                steals.then(|| self.ranges.steal(&self.pace.limiter)).flatten()
            })
        };
        match found {
            Some(start) => {
                self.ranges.assign(&start);
                NextTask::Read(start)
            }
            None if self.ranges.open == 0 => NextTask::End,
            None => NextTask::Wait,
        }
    }

    /// Whether the next page of a range may be requested; it counts as requested then.
    pub(super) fn admit(&mut self, start: &Position) -> Admission {
        if self.delivery.is_ended() {
            return Admission::Park;
        }
        if self.rules.ordered {
            if !self.has_room(start) {
                self.ranges.park(start);
                return Admission::Park;
            }
        } else if self.delivery.is_full() {
            return Admission::Wait;
        }
        let Some(range) = self.ranges.get_mut(start) else { return Admission::Park };
        if range.is_cut {
            range.narrow(&self.rules);
        }
        self.delivery.requested += 1;
        Admission::Go(Box::new(range.request.clone()), range.partition().map(str::to_owned))
    }

    /// A page for the consumer.
    pub fn take(&mut self) -> Option<QueuedPage<T>> {
        if !self.rules.ordered {
            return self.delivery.take_first();
        }
        let mut ranges = self.ranges.iter();
        let is_open = |range: &Range| range.phase != RangePhase::Done;
        let (head, _) =
            ranges.find(|(start, range)| is_open(range) || self.delivery.holds(start))?;
        self.delivery.take_of(&head.clone())
    }

    /// The error that has ended the scan; it stops then.
    pub fn take_error(&mut self) -> Option<Error> {
        let error = self.delivery.failed.take()?;
        self.delivery.stopped = true;
        Some(error)
    }

    /// The consumer is done with a page.
    pub fn settle(&mut self, start: &Position, last: RowHead) {
        self.delivery.settle(start, last);
        self.forget_settled(start);
    }

    /// Removes a range once every row of it was handed out and used.
    pub(super) fn forget_settled(&mut self, start: &Position) {
        let done = self.ranges.get(start).is_some_and(|range| range.phase == RangePhase::Done);
        if done && self.delivery.is_settled(start) {
            self.ranges.remove(start);
            self.delivery.forget(start);
        }
    }

    /// Whether all rows, or as many as the limit, were handed out.
    pub fn is_over(&self) -> bool {
        (self.ranges.open == 0 && self.delivery.is_empty()) || self.delivery.has_handed_out_limit()
    }
}

/// Joins ranges without a gap between them: a scan in order has read the one before the other.
fn join(ranges: &mut Vec<(Position, Option<Position>)>) {
    ranges.dedup_by(|(start, end), (_, before)| {
        let joined = before.as_ref() == Some(start);
        if joined {
            *before = end.take();
        }
        joined
    });
}
