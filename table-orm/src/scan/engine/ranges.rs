//! The ranges of a scan, and who reads them.
//!
//! Invariant: a range stays until it is read to its end and settled, so the ranges and the pages
//! delivered make up the whole scan.

use super::learned::Learned;
use super::position::{Position, max, min};
use super::prefix::PrefixStep;
use super::range::{Axis, Range, RangePhase, key_range, simple_ranges};
use super::rules::{LOOK_AHEAD, Rules, Splitter};
use crate::entity::RowHead;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

#[derive(Debug)]
pub(in crate::scan) struct Ranges {
    pub(super) rules: Arc<Rules>,
    pub(super) by_start: BTreeMap<Position, Range>,
    /// Ranges that wait for a worker.
    pub(super) ready: VecDeque<Position>,
    /// Ranges not read to their end, and those of them that are parked.
    pub(super) open: usize,
    pub(super) parked: usize,
    /// Idle workers.
    pub(super) idle: usize,
    /// No range is worth a split before the next page arrives.
    pub(super) exhausted: bool,
    /// The version of the keys' lines that the remainders were measured on.
    pub(super) measured: u64,
    /// Ranges in all, those that are settled included.
    pub(super) made: u64,
    pub learned: Learned,
}

impl Ranges {
    pub fn new(rules: Arc<Rules>) -> Self {
        Self {
            learned: Learned::new(Arc::clone(&rules)),
            rules,
            by_start: BTreeMap::new(),
            ready: VecDeque::new(),
            open: 0,
            parked: 0,
            idle: 0,
            exhausted: false,
            measured: 0,
            made: 0,
        }
    }

    /// Adds the ranges of a new scan.
    pub fn begin(&mut self) {
        let (lo, hi) = self.rules.partitions.clone();
        match self.rules.splitter.clone() {
            Splitter::Prefix => {
                let start = PrefixStep::Start { prefix: self.rules.prefix.clone(), lo, hi };
                let starts = self.follow(start.next(None, true, !self.rules.keys_only));
                self.ready.extend(starts);
            }
            Splitter::Keys(keys) => {
                let inside = |key: &String| {
                    let above = max(lo.clone(), key.clone()) != lo;
                    above
                        && hi.as_ref().is_none_or(|hi| {
                            min(Some(key.clone()), Some(hi.clone())).as_ref() != Some(hi)
                        })
                };
                let mut positions: Vec<_> =
                    keys.into_iter().filter(inside).map(Position::partition).collect();
                positions.sort();
                positions.dedup();
                let mut start = Position::partition(lo.clone());
                for position in positions {
                    self.seed(start, Some(position.clone()));
                    start = position;
                }
                self.seed(start, hi.map(Position::partition));
            }
            Splitter::Adaptive | Splitter::Serial => {
                self.seed(Position::partition(lo), hi.map(Position::partition));
            }
        }
    }

    /// Adds the ranges between two positions, to be read by any worker.
    pub fn seed(&mut self, start: Position, end: Option<Position>) {
        for (axis, start, end) in simple_ranges(start, end) {
            let step = match (&self.rules.splitter, &axis) {
                (Splitter::Prefix, Axis::Partitions) => Some(PrefixStep::PrefixQuery {
                    prefix: self.rules.prefix.clone(),
                    lo: start.pk.clone(),
                    hi: end.as_ref().map(|end| end.pk.clone()),
                }),
                _ => None,
            };
            let start = self.add(axis, start, end, step);
            self.ready.push_back(start);
        }
    }

    /// Adds a range without a worker.
    pub(super) fn add(
        &mut self,
        axis: Axis,
        start: Position,
        end: Option<Position>,
        step: Option<PrefixStep>,
    ) -> Position {
        let mut request = self.rules.query.clone();
        request.keys = key_range(&axis, &start, end.as_ref(), &self.rules.rows);
        let mut range = Range::new(axis, end, request, LOOK_AHEAD);
        let first = self.rules.rounds.0;
        range.step = step.map(|step| (step, first));
        self.by_start.insert(start.clone(), range);
        self.open += 1;
        self.made += 1;
        start
    }

    /// Adds the ranges of a prefix scan's steps, in key order.
    pub(super) fn follow(&mut self, steps: Vec<PrefixStep>) -> Vec<Position> {
        let mut starts = Vec::new();
        for step in steps {
            match step {
                PrefixStep::PrefixQuery { ref lo, ref hi, .. } => {
                    let (lo, end) = (lo.clone(), hi.clone().map(Position::partition));
                    let start = Position::partition(lo);
                    starts.push(self.add(Axis::Partitions, start, end, Some(step)));
                }
                PrefixStep::PartitionKeyQuery { partition_key, after } => {
                    let end = Position::after_partition(&partition_key);
                    let key = |row_key| RowHead { partition_key: partition_key.clone(), row_key };
                    let start = after.map_or_else(
                        || Position::partition(partition_key.clone()),
                        |after| Position::after(&key(after)),
                    );
                    let axis = Axis::Rows(partition_key.clone());
                    starts.push(self.add(axis, start, Some(end), None));
                }
                PrefixStep::Start { .. } | PrefixStep::EntitySegment => {}
            }
        }
        starts
    }

    pub(super) fn get(&self, start: &Position) -> Option<&Range> {
        self.by_start.get(start)
    }

    pub(super) fn get_mut(&mut self, start: &Position) -> Option<&mut Range> {
        self.by_start.get_mut(start)
    }

    pub(super) fn remove(&mut self, start: &Position) {
        self.by_start.remove(start);
    }

    /// All ranges, in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&Position, &Range)> {
        self.by_start.iter()
    }

    /// Assigns a range to an idle worker.
    pub(super) fn assign(&mut self, start: &Position) {
        self.idle = self.idle.saturating_sub(1);
        if let Some(range) = self.by_start.get_mut(start) {
            range.phase = RangePhase::Running;
        }
    }

    /// The earliest range that is parked or waits for a worker.
    pub(super) fn earliest_unread(&self) -> Option<&Position> {
        let mut ranges = self.iter();
        let parked = (self.parked > 0)
            .then(|| ranges.find(|(_, range)| range.phase == RangePhase::Parked))
            .flatten();
        self.ready.iter().chain(parked.map(|(start, _)| start)).min()
    }

    /// Takes a range that is parked or waits for a worker.
    pub(super) fn take_unread(&mut self, start: &Position) {
        if let Some(at) = self.ready.iter().position(|ready| ready == start) {
            self.ready.remove(at);
        } else {
            self.parked -= 1;
        }
    }

    /// Puts a range aside until there is room for its pages.
    pub(super) fn park(&mut self, start: &Position) {
        self.release(start);
        if let Some(range) = self.by_start.get_mut(start) {
            range.phase = RangePhase::Parked;
            self.parked += 1;
        }
    }

    /// Lets other workers have the ranges that a step has found.
    pub(super) fn release(&mut self, start: &Position) {
        let held = self.by_start.get_mut(start).map(|range| std::mem::take(&mut range.held));
        // A single worker goes depth first, as a stack does.
        if self.rules.workers == 1 {
            held.into_iter().flatten().rev().for_each(|start| self.ready.push_front(start));
        } else {
            self.ready.extend(held.into_iter().flatten());
        }
    }

    /// A range is read to its end.
    pub(super) fn finish(&mut self, start: &Position) {
        if let Some(range) = self.by_start.get_mut(start) {
            range.phase = RangePhase::Done;
            self.open -= 1;
        }
        if self.rules.ordered {
            self.finish_partition(start);
        }
    }

    /// Learns how large the partition of a range is, if it is read to its end.
    fn finish_partition(&mut self, start: &Position) {
        let Some(Axis::Rows(partition)) = self.get(start).map(|range| &range.axis) else { return };
        let all = Position::partition(partition.clone())..Position::after_partition(partition);
        if self.by_start.range(all).all(|(_, range)| range.phase == RangePhase::Done) {
            let partition = partition.clone();
            self.learned.sizes.finish(&partition);
        }
    }
}
