//! The pages of one range, and where to split what is left of it.

use super::super::estimate::LEAST_PAGES;
use super::super::page_keys::PageKeys;
use super::super::place::{Place, ScanKey};
use super::super::range::{Axis, Range, keys, simple};
use super::super::worker::{Shared, fetch};
use super::backoff::patiently;
use crate::error::Result;
use crate::layer::Random;
use crate::store::Page;
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct RangeReader<'a, T> {
    shared: &'a Shared<T>,
    random: &'a Random,
    range: Option<Range<()>>,
    /// What one query each can read, behind that.
    later: VecDeque<(Axis, Place, Option<Place>)>,
}

/// Rows to be handled; never none.
#[derive(Debug)]
pub(super) struct ReadPage<T> {
    pub rows: Vec<T>,
    pub first: ScanKey,
    pub last: ScanKey,
    /// Nothing is left behind it.
    pub is_last: bool,
}

impl<'a, T: Send> RangeReader<'a, T> {
    pub fn new(
        shared: &'a Shared<T>,
        random: &'a Random,
        start: Place,
        end: Option<Place>,
    ) -> Self {
        let later = simple(start, end).into();
        let mut reader = Self { shared, random, range: None, later };
        reader.go_on();
        reader
    }

    /// The next page with rows; `None` at the end. Safe to drop, and to call again then.
    pub async fn next(&mut self) -> Result<Option<ReadPage<T>>> {
        while let Some(range) = &self.range {
            let partition = range.partition();
            let page = patiently(self.random, || fetch(self.shared, &range.request, partition));
            let page = page.await?;
            if let Some(page) = self.take(page)? {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Reads a page's rows, as far as they lie in the range.
    fn take(&mut self, page: Page) -> Result<Option<ReadPage<T>>> {
        let Some(range) = &mut self.range else { return Ok(None) };
        let (body, more) = (page.body, page.continuation.is_some());
        let keys = PageKeys::read(&body)?;
        let (found, keep) = (keys.len(), range.owned(&keys)?);
        let (pages, sparse) = {
            let mut state = self.shared.lock();
            state.answered(range.partition(), found);
            (state.learn(&keys, keep, more)?, state.rules.is_sparse())
        };
        range.request.continuation = page.continuation;
        range.pages += pages;
        let mut ended = keep < found || !more;
        let mut read = None;
        if let Some(at) = keep.checked_sub(1) {
            let (first, last) = (keys.at(0)?, keys.at(at)?);
            range.advance(&first, &last, pages, sparse, true);
            let behind = Place::after(&last);
            ended |= range.end.as_ref().is_some_and(|end| *end <= behind);
            range.committed = Some(behind);
            let rows = (self.shared.read)(self.shared.row, &body, keys.first(keep), keep == found)?;
            read = Some(ReadPage { rows, first, last, is_last: false });
        }
        if ended {
            self.go_on();
        }
        let is_last = self.range.is_none();
        Ok(read.map(|read| ReadPage { is_last, ..read }))
    }

    fn go_on(&mut self) {
        self.range = self.later.pop_front().map(|(axis, start, end)| {
            let state = self.shared.lock();
            let rules = &state.rules;
            let mut request = rules.query.clone();
            request.keys = keys(&axis, &start, end.as_ref(), &rules.rows);
            Range::new(axis, end, request, rules.look_ahead())
        });
    }

    /// Whether enough is left for two.
    pub fn is_long(&self) -> bool {
        self.pages_left().is_some()
            || self.range.as_ref().is_some_and(|range| range.large_partition().is_some())
    }

    /// The pages left by estimate, where they are enough for two.
    fn pages_left(&self) -> Option<f64> {
        let range = self.range.as_ref()?;
        let state = self.shared.lock();
        let pages = range.estimate(&state.models, &state.rules);
        (pages >= 1.0 + LEAST_PAGES).then_some(pages)
    }

    /// Ends the range in the middle of what it has left, or behind the partition it is in, where no
    /// estimate tells the middle. What lies behind is another's from then on.
    pub fn split(&mut self) -> Option<Place> {
        let pages = self.pages_left();
        let range = self.range.as_mut()?;
        let middle = pages.and_then(|pages| {
            let state = self.shared.lock();
            // The page under way stays with the range, and half of the others.
            range.point(&state.models, &state.rules, f64::midpoint(1.0, pages) / pages)
        });
        let at = match middle {
            Some(middle) => range.end.insert(middle).clone(),
            None => range.cut_behind_partition()?.0,
        };
        self.later.clear();
        Some(at)
    }
}
