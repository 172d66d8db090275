//! What all workers of a scan share, behind one lock: the ranges, and the pages to be taken.
//!
//! Invariant: the ranges partition what has not been delivered. A split and a page's commit both
//! happen under the lock, so each row is delivered by exactly one range.

use super::key_model::KeyModels;
use super::limiter::Limiter;
use super::page_keys::PageKeys;
use super::place::{Place, ScanKey, max, min};
use super::prefix::Step;
use super::range::{Axis, Phase, QueuedPage, Range, keys, simple};
use super::report::ScanReport;
use super::splitter::Splitter;
use crate::error::Error;
use crate::property::PropertyError;
use crate::query::RowQuery;
use crate::sync::Random;
use std::collections::{BTreeMap, VecDeque};
use tokio::time::Instant;

/// How many pages ahead of the range it splits a thief may start.
const LOOK_AHEAD: f64 = 64.0;
/// The same where rows leave in order.
const ORDERED_LOOK_AHEAD: f64 = 6.0;
/// Pages that may wait for an earlier one, for each worker.
const HELD_PAGES: usize = 5;
/// Pages of the earliest range that may wait for the consumer.
const READY_PAGES: usize = 4;

/// What a scan reads, and how.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    /// The whole scan as one query: table, keys, filter, select and page size of each request.
    pub query: RowQuery,
    /// The PartitionKeys, half-open.
    pub partitions: (String, Option<String>),
    /// The RowKeys, half-open.
    pub rows: (String, Option<String>),
    /// The prefix all PartitionKeys have.
    pub prefix: String,
    pub splitter: Splitter,
    /// Pages a prefix query reads before it goes deeper: in its first round, and in later ones.
    pub rounds: (u32, u32),
    pub workers: usize,
    pub ordered: bool,
    /// One row of each partition is enough.
    pub keys_only: bool,
    /// The most rows in all, or partition keys.
    pub limit: Option<usize>,
}

impl Rules {
    /// Whether rows are left out of what the service reads, so that they do not measure its work.
    pub const fn is_sparse(&self) -> bool {
        self.query.filter.is_some() || !self.rows.0.is_empty() || self.rows.1.is_some()
    }

    /// How many pages ahead of the range it splits a thief may start.
    pub const fn look_ahead(&self) -> f64 {
        if self.ordered { ORDERED_LOOK_AHEAD } else { LOOK_AHEAD }
    }

    /// Whether idle workers split ranges, and requests keep to a rate.
    pub const fn is_adaptive(&self) -> bool {
        matches!(self.splitter, Splitter::Adaptive | Splitter::Keys(_))
    }
}

#[derive(Debug)]
pub(super) struct State<T> {
    pub rules: Rules,
    pub started: Instant,
    /// By their start.
    pub ranges: BTreeMap<Place, Range<T>>,
    pub ready: VecDeque<Place>,
    /// Ranges not read to their end, and those of them that are parked.
    pub open: usize,
    pub parked: usize,
    /// Idle workers.
    pub hungry: usize,
    /// Requests under way.
    pub running: usize,
    /// The ranges whose pages wait to be taken, oldest first; unused where rows leave in order.
    pub arrivals: VecDeque<Place>,
    /// Pages and rows that wait.
    pub waiting: (usize, usize),
    pub models: KeyModels,
    pub limiter: Limiter,
    pub report: ScanReport,
    /// Rows committed, or partition keys.
    pub found: usize,
    /// Committed pages, by the rows of a full one.
    pub pages: f64,
    pub gambles: f64,
    /// The most rows of a page that was not the last.
    pub fullest: usize,
    /// No range is worth a split before the next page has come.
    pub barren: bool,
    pub failed: Option<Error>,
    pub stopped: bool,
    pub random: Random,
}

/// What a worker does next.
pub(super) enum Next {
    Scan(Place),
    Wait,
    End,
}

/// Whether a range's next page may be asked for.
pub(super) enum Admission {
    Go(Box<RowQuery>, Option<String>),
    Wait,
    Park,
}

impl<T> State<T> {
    pub fn new(rules: Rules, random: Random) -> Self {
        Self {
            limiter: Limiter::new(rules.workers),
            rules,
            started: Instant::now(),
            ranges: BTreeMap::new(),
            ready: VecDeque::new(),
            open: 0,
            parked: 0,
            hungry: 0,
            running: 0,
            arrivals: VecDeque::new(),
            waiting: (0, 0),
            models: KeyModels::default(),
            report: ScanReport::default(),
            found: 0,
            pages: 0.0,
            gambles: 0.0,
            fullest: 0,
            barren: false,
            failed: None,
            stopped: false,
            random,
        }
    }

    /// The ranges of a new scan.
    pub fn begin(&mut self) {
        let (lo, hi) = self.rules.partitions.clone();
        match self.rules.splitter.clone() {
            Splitter::Prefix => {
                let start = Step::Start { prefix: self.rules.prefix.clone(), lo, hi };
                let places = self.follow(start.next(None, true, !self.rules.keys_only));
                self.ready.extend(places);
            }
            Splitter::Keys(keys) => {
                let inside = |key: &String| {
                    let above = max(lo.clone(), key.clone()) != lo;
                    above
                        && hi.as_ref().is_none_or(|hi| {
                            min(Some(key.clone()), Some(hi.clone())).as_ref() != Some(hi)
                        })
                };
                let mut places: Vec<_> =
                    keys.into_iter().filter(inside).map(Place::partition).collect();
                places.sort();
                places.dedup();
                let mut start = Place::partition(lo.clone());
                for place in places {
                    self.seed(start, Some(place.clone()));
                    start = place;
                }
                self.seed(start, hi.map(Place::partition));
            }
            Splitter::Adaptive | Splitter::Serial => {
                self.seed(Place::partition(lo), hi.map(Place::partition));
            }
        }
    }

    /// Reads what lies between two places.
    pub fn seed(&mut self, start: Place, end: Option<Place>) {
        for (axis, start, end) in simple(start, end) {
            let step = match (&self.rules.splitter, &axis) {
                (Splitter::Prefix, Axis::Partitions) => Some(Step::PrefixQuery {
                    prefix: self.rules.prefix.clone(),
                    lo: start.pk.clone(),
                    hi: end.as_ref().map(|end| end.pk.clone()),
                }),
                _ => None,
            };
            let place = self.add(axis, start, end, step);
            self.ready.push_back(place);
        }
    }

    /// Adds a range, which nobody works on yet.
    pub fn add(
        &mut self,
        axis: Axis,
        start: Place,
        end: Option<Place>,
        step: Option<Step>,
    ) -> Place {
        let mut request = self.rules.query.clone();
        request.keys = keys(&axis, &start, end.as_ref(), &self.rules.rows);
        let mut range = Range::new(axis, end, request, self.rules.look_ahead());
        let first = self.rules.rounds.0;
        range.step = step.map(|step| (step, first));
        self.ranges.insert(start.clone(), range);
        self.open += 1;
        self.report.ranges += 1;
        start
    }

    /// Adds the ranges of a prefix scan's steps, in key order.
    pub fn follow(&mut self, steps: Vec<Step>) -> Vec<Place> {
        let mut places = Vec::new();
        for step in steps {
            match step {
                Step::PrefixQuery { ref lo, ref hi, .. } => {
                    let (start, end) = (lo.clone(), hi.clone().map(Place::partition));
                    let place = Place::partition(start);
                    places.push(self.add(Axis::Partitions, place, end, Some(step)));
                }
                Step::PartitionKeyQuery { partition_key, after } => {
                    let end = Place::after_partition(&partition_key);
                    let key = |row_key| ScanKey { partition_key: partition_key.clone(), row_key };
                    let start = after.map_or_else(
                        || Place::partition(partition_key.clone()),
                        |after| Place::after(&key(after)),
                    );
                    let axis = Axis::Rows(partition_key.clone());
                    places.push(self.add(axis, start, Some(end), None));
                }
                Step::Start { .. } | Step::EntitySegment => {}
            }
        }
        places
    }

    /// Seconds since the start.
    pub fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The rows of a full page.
    pub fn page_rows(&self) -> f64 {
        let asked = self.rules.query.top.unwrap_or(crate::model::MAX_PAGE_ROWS);
        if self.fullest == 0 { f64::from(asked) } else { self.fullest as f64 }
    }

    /// A request has brought a page of `rows` rows.
    pub fn answered(&mut self, partition: Option<&str>, rows: usize) {
        if self.rules.is_adaptive() {
            let (now, page) = (self.now(), self.page_rows());
            self.limiter.answered(now, partition, rows as f64, page);
        }
    }

    /// Learns from a page, of which the first `keep` rows are used and behind which there is
    /// `more`; returns its size in pages.
    pub fn learn(
        &mut self,
        page: &PageKeys<'_>,
        keep: usize,
        more: bool,
    ) -> Result<f64, PropertyError> {
        let measured = !self.rules.is_sparse() && !self.rules.keys_only;
        if more && measured {
            self.fullest = self.fullest.max(page.len());
        }
        self.models.learn(page, keep)?;
        // Where rows are left out, each page that is not the last was a page's work.
        Ok(if more && !measured { 1.0 } else { keep as f64 / self.page_rows() })
    }

    /// What an idle worker does next.
    pub fn next(&mut self) -> Next {
        if self.stopped || self.failed.is_some() || self.is_enough() {
            return Next::End;
        }
        let found = self.unpark().or_else(|| self.pop_ready()).or_else(|| {
            let steals = self.rules.is_adaptive() && self.open > 0 && !self.barren;
            steals.then(|| self.steal()).flatten()
        });
        match found {
            Some(place) => {
                self.hungry = self.hungry.saturating_sub(1);
                if let Some(range) = self.ranges.get_mut(&place) {
                    range.phase = Phase::Running;
                }
                Next::Scan(place)
            }
            None if self.open == 0 => Next::End,
            None => Next::Wait,
        }
    }

    /// The earliest parked range, if it may go on.
    fn unpark(&mut self) -> Option<Place> {
        if self.parked == 0 {
            return None;
        }
        let earliest = self.ranges.iter().find(|(_, range)| range.phase == Phase::Parked);
        let place = earliest.map(|(place, _)| place.clone())?;
        if !self.is_head(&place) && self.is_full() {
            return None;
        }
        self.parked -= 1;
        Some(place)
    }

    fn pop_ready(&mut self) -> Option<Place> {
        if !self.rules.ordered {
            return self.ready.pop_front();
        }
        let earliest = (0..self.ready.len()).min_by_key(|at| self.ready.get(*at))?;
        self.ready.remove(earliest)
    }

    /// Whether no earlier range has rows to come.
    fn is_head(&self, place: &Place) -> bool {
        let earliest = self
            .ranges
            .iter()
            .find(|(_, range)| range.phase != Phase::Done || !range.queue.is_empty());
        earliest.is_none_or(|(earliest, _)| earliest == place)
    }

    /// Whether as many rows wait, or are on their way, as may.
    fn is_full(&self) -> bool {
        let pages = (HELD_PAGES * self.rules.workers).max(4 * READY_PAGES) as f64;
        let rows = self.waiting.1 as f64 + self.running as f64 * self.page_rows();
        rows >= pages * self.page_rows()
    }

    /// Whether the next page of a range may be asked for; it counts as under way then.
    pub fn admit(&mut self, place: &Place) -> Admission {
        if self.stopped || self.failed.is_some() || self.is_enough() {
            return Admission::Park;
        }
        if self.rules.ordered {
            if self.is_head(place) {
                let queued = self.ranges.get(place).map_or(0, |range| range.queue.len());
                if queued >= READY_PAGES {
                    return Admission::Wait;
                }
            } else if self.is_full() {
                self.release(place);
                if let Some(range) = self.ranges.get_mut(place) {
                    range.phase = Phase::Parked;
                    self.parked += 1;
                }
                return Admission::Park;
            }
        } else if self.waiting.0 + self.running >= 2 * self.rules.workers {
            return Admission::Wait;
        }
        let Some(range) = self.ranges.get(place) else { return Admission::Park };
        self.running += 1;
        Admission::Go(Box::new(range.request.clone()), range.partition().map(str::to_owned))
    }

    /// Lets other workers have the ranges that a step has found.
    pub fn release(&mut self, place: &Place) {
        let held = self.ranges.get_mut(place).map(|range| std::mem::take(&mut range.held));
        // A single worker goes depth first, as a stack does.
        if self.rules.workers == 1 {
            held.into_iter().flatten().rev().for_each(|place| self.ready.push_front(place));
        } else {
            self.ready.extend(held.into_iter().flatten());
        }
    }

    /// A page for the consumer.
    pub fn take(&mut self) -> Option<QueuedPage<T>> {
        let batch = if self.rules.ordered {
            let earliest = self
                .ranges
                .values_mut()
                .find(|range| range.phase != Phase::Done || !range.queue.is_empty());
            earliest.and_then(|range| range.queue.pop_front())
        } else {
            let place = self.arrivals.pop_front()?;
            self.ranges.get_mut(&place).and_then(|range| range.queue.pop_front())
        }?;
        self.waiting.0 -= 1;
        self.waiting.1 -= batch.read;
        self.report.pages += 1;
        self.report.rows += batch.rows.len() as u64;
        Some(batch)
    }

    /// The consumer is done with a page.
    pub fn settle(&mut self, place: &Place, last: ScanKey) {
        if let Some(range) = self.ranges.get_mut(place) {
            range.delivered = Some(last);
            range.unsettled -= 1;
            if range.is_settled() {
                self.ranges.remove(place);
            }
        }
    }

    /// Whether all rows that are wanted were committed.
    pub fn is_enough(&self) -> bool {
        self.rules.limit.is_some_and(|limit| self.found >= limit)
    }

    /// Whether all rows there are, or that are wanted, were handed out.
    pub fn is_over(&self) -> bool {
        let all = self.open == 0 && self.waiting.0 == 0;
        all || self.rules.limit.is_some_and(|limit| self.report.rows >= limit as u64)
    }

    /// A factor between 0.8 and 1.2.
    pub fn jitter(&self) -> f64 {
        0.4f64.mul_add(self.random.unit(), 0.8)
    }
}
