//! The pages of one range, and where to split the rest of it.

use super::retry::{is_transient, retry_transient};
use crate::entity::RowHead;
use crate::error::Result;
use crate::query::RowQuery;
use crate::scan::engine::{
    Axis, LEAST_PAGES, LOOK_AHEAD, PageKeys, Position, Range, Shared, fetch, key_range,
    simple_ranges,
};
use crate::store::Page;
use crate::sync::Random;
use std::collections::VecDeque;

/// The pages that must be left for a split: the one in flight, and enough for a second worker.
const ENOUGH_PAGES: f64 = 1.0 + LEAST_PAGES;
/// The most requests that a split takes to find parts with rows in them.
const MOST_PROBES: u32 = 32;

#[derive(Debug)]
pub(super) struct RangeReader<'a, T> {
    shared: &'a Shared<T>,
    random: &'a Random,
    range: Option<Range>,
    /// The later ranges, readable by one query each, and where they end.
    later: VecDeque<(Axis, Position, Option<Position>)>,
    end: Option<Position>,
    /// A split without an estimate was tried in this range.
    speculated: bool,
}

/// Rows to be handled. Empty only if all of them were left out.
#[derive(Debug)]
pub(super) struct ReadPage<T> {
    pub rows: Vec<T>,
    pub first: RowHead,
    pub last: RowHead,
    /// No page follows.
    pub is_last: bool,
}

impl<'a, T: Send> RangeReader<'a, T> {
    pub fn new(
        shared: &'a Shared<T>,
        random: &'a Random,
        start: Position,
        end: Option<Position>,
    ) -> Self {
        let later = simple_ranges(start, end.clone()).into();
        let mut reader = Self { shared, random, range: None, later, end, speculated: false };
        reader.go_on();
        reader
    }

    /// The next page with rows; `None` at the end. Safe to drop, and to call again then.
    pub async fn next(&mut self) -> Result<Option<ReadPage<T>>> {
        while let Some(range) = &self.range {
            let partition = range.partition();
            let page =
                retry_transient(self.random, || fetch(self.shared, &range.request, partition));
            let page = page.await?;
            if let Some(page) = self.take(page)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Reads those rows of a page that lie in the range.
    fn take(&mut self, page: Page) -> Result<Option<ReadPage<T>>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        let (body, more) = (page.body, page.continuation.is_some());
        let keys = PageKeys::read(&body)?;
        let (found, keep) = (keys.len(), range.owned(&keys)?);
        let pages = {
            let mut state = self.shared.lock();
            state.answered(range.partition(), found);
            state.ranges.learned.learn(&keys, keep, more)?
        };
        range.request.continuation = page.continuation;
        range.pages += pages;
        let mut ended = keep < found || !more;
        let mut read = None;
        if let Some(at) = keep.checked_sub(1) {
            let (first, last) = (keys.at(0)?, keys.at(at)?);
            range.advance(&first, &last, pages, self.shared.rules.is_sparse(), true);
            let behind = Position::after(&last);
            ended |= range.end.as_ref().is_some_and(|end| *end <= behind);
            range.committed = Some(behind);
            let rows = self.shared.read.page(&self.shared.source.own(), &body)?;
            let rows = rows.first(keep, usize::MAX, self.shared.skip.as_ref())?;
            read = Some(ReadPage { rows, first, last, is_last: false });
        }
        if ended {
            self.go_on();
        }
        let is_last = self.range.is_none();
        Ok(read.map(|read| ReadPage { is_last, ..read }))
    }

    fn go_on(&mut self) {
        self.speculated = false;
        self.range = self.later.pop_front().map(|(axis, start, end)| {
            let rules = &self.shared.rules;
            let mut request = rules.query.clone();
            request.keys = key_range(&axis, &start, end.as_ref(), &rules.rows);
            Range::new(axis, end, request, LOOK_AHEAD)
        });
    }

    /// Whether there may be enough left for two workers.
    pub fn is_long(&self) -> bool {
        let large = |range: &Range| range.large_partition().is_some();
        !self.speculated || self.pages_left().is_some() || self.range.as_ref().is_some_and(large)
    }

    /// The estimated number of pages left, if they are enough for two workers.
    fn pages_left(&self) -> Option<f64> {
        let range = self.range.as_ref()?;
        let state = self.shared.lock();
        let pages = range.estimate(&state.ranges.learned);
        (pages >= ENOUGH_PAGES).then_some(pages)
    }

    /// Splits off up to `parts` parts, and returns the start and end of each, in order. They belong to
    /// other workers from then on.
    ///
    /// Each is half of what is left, so that some are large enough even if keys end long before the line
    /// that they are measured on. Each has rows, unless a filter makes that too slow to find out.
    pub async fn split(&mut self, parts: usize) -> Result<Vec<(Position, Option<Position>)>> {
        let mut places = VecDeque::new();
        for _ in 0..MOST_PROBES {
            if places.len() == parts {
                break;
            }
            let Some(end) = self.range.as_ref().map(|range| range.end.clone()) else { break };
            let Some((axis, at)) = self.halve() else { break };
            if self.has_rows(&axis, &at, end.as_ref()).await? {
                let end = if self.later.is_empty() { end } else { self.end.clone() };
                self.later.clear();
                places.push_front((at, end));
            }
        }
        Ok(places.into())
    }

    /// Ends the range in the middle of what it has left, or after its partition if no estimate finds the
    /// middle. Returns the start of the part split off.
    ///
    /// An estimate knows only letters that were seen, and later keys may have others. So once in each
    /// range a split is tried against the estimate.
    fn halve(&mut self) -> Option<(Axis, Position)> {
        let pages = self.pages_left();
        let range = self.range.as_mut()?;
        if pages.is_none() && range.single_partition.is_some() {
            self.speculated = false;
            let behind = range.cut_behind_partition();
            return behind.map(|(at, _)| (Axis::Partitions, at)).or_else(|| self.halve());
        }
        let speculate = || (!std::mem::replace(&mut self.speculated, true)).then_some(ENOUGH_PAGES);
        let pages = pages.or_else(speculate)?;
        let state = self.shared.lock();
        // The page in flight stays with the range, and half of the others.
        let fraction = f64::midpoint(1.0, pages) / pages;
        let middle = range.point(&state.ranges.learned, fraction)?;
        range.end = Some(middle.clone());
        Some((range.axis.clone(), middle))
    }

    /// Whether there may be a row between two positions: asks once, and learns from the row's keys.
    async fn has_rows(&self, axis: &Axis, from: &Position, to: Option<&Position>) -> Result<bool> {
        let rules = &self.shared.rules;
        // Rows that a filter leaves out may take long to read.
        if rules.is_sparse() {
            return Ok(true);
        }
        let keys = key_range(axis, from, to, &rules.rows);
        let request = RowQuery { keys, top: Some(1), ..rules.query.clone() };
        let partition = match axis {
            Axis::Rows(partition) => Some(partition.as_str()),
            Axis::Partitions => None,
        };
        let page = match fetch(self.shared, &request, partition).await {
            Ok(page) => page,
            Err(error) if is_transient(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        let (keys, more) = (PageKeys::read(&page.body)?, page.continuation.is_some());
        let mut state = self.shared.lock();
        state.answered(partition, keys.len());
        state.ranges.learned.models.learn(&keys, keys.len())?;
        Ok(more || keys.len() > 0)
    }
}
