//! How much of a range is left, and where to cut it: what is learned from its pages.

use super::density::ENDLESS;
use super::key_line::KeyLine;
use super::key_model::KeyModel;
use super::learned::Learned;
use super::page_keys::PageKeys;
use super::position::{Position, above};
use super::range::{Axis, Range, SinglePartition};
use crate::entity::RowHead;
use crate::property::PropertyError;

/// Pages that must remain after the one in flight, for a split to be worth it.
pub(in crate::scan) const LEAST_PAGES: f64 = 2.0;

impl Range {
    /// How many of a page's rows, from the first, lie before the range's end.
    pub fn owned(&self, page: &PageKeys<'_>) -> Result<usize, PropertyError> {
        let found = page.len();
        match &self.end {
            Some(end) if found > 0 && !end.is_after(&page.at(found - 1)?) => {
                page.count(|key| end.is_after(key))
            }
            _ => Ok(found),
        }
    }

    /// Notes where a page began and ended.
    pub fn advance(
        &mut self,
        first: &RowHead,
        last: &RowHead,
        pages: f64,
        sparse: bool,
        may_cut: bool,
    ) {
        let before = self.committed.take().filter(|_| sparse);
        let from = before.map_or_else(
            || first.clone(),
            |before| RowHead {
                partition_key: before.pk.trim_end_matches('\0').to_owned(),
                row_key: before.rk.trim_end_matches('\0').to_owned(),
            },
        );
        let on_axis = |key: &RowHead| match self.axis {
            Axis::Partitions => key.partition_key.clone(),
            Axis::Rows(_) => key.row_key.clone(),
        };
        let start = on_axis(&from);
        if self.first.is_none() {
            self.first = Some(start.clone());
        }
        let before = self.current.replace(on_axis(last));
        self.page = Some(start);
        self.tried = false;
        self.unsplittable = false;
        self.left = None;
        let in_one = may_cut
            && self.axis == Axis::Partitions
            && pages >= 0.5
            && from.partition_key == last.partition_key;
        self.single_partition = in_one.then(|| SinglePartition {
            partition: last.partition_key.clone(),
            first: from.row_key,
            last: last.row_key.clone(),
            pages,
            large: before.as_ref() == Some(&last.partition_key),
        });
    }

    /// The pages left, by the density of the whole range or of its last page.
    pub fn estimate(&self, learned: &Learned) -> f64 {
        let (model, hi) = self.line(learned);
        let Some(current) = &self.current else { return 0.0 };
        let densities = [(&self.first, self.pages), (&self.page, 1.0)];
        let known = densities.into_iter().filter_map(|(since, pages)| {
            let (used, left) = model.distance(since.as_ref()?, current, hi);
            (used > 0.0).then(|| pages * left / used)
        });
        let left = known.reduce(f64::max).unwrap_or_else(|| {
            // A page of one partition says nothing about those after it.
            let one = self.axis == Axis::Partitions && self.first.as_ref() == Some(current);
            let unknown = one || learned.rules.is_sparse() || learned.rules.keys_only;
            if unknown { 0.0 } else { ENDLESS }
        });
        left.min(ENDLESS)
    }

    /// The position at that fraction of what is left.
    pub fn point(&self, learned: &Learned, fraction: f64) -> Option<Position> {
        let (model, hi) = self.line(learned);
        let key = model.point(self.current.as_ref()?, hi, fraction)?;
        Some(self.on_axis(key))
    }

    /// The keys it is measured on, and its upper bound among them.
    fn line<'a>(&'a self, learned: &'a Learned) -> (&'a KeyModel, Option<&'a str>) {
        match &self.axis {
            Axis::Partitions => (&learned.models.partition, self.hi()),
            Axis::Rows(_) => (&learned.models.row, self.hi().or(learned.rules.rows.1.as_deref())),
        }
    }

    /// Takes the last page as a measure of what lies ahead, where rows leave in order.
    pub fn learn_ahead(&mut self, pages: f64) {
        if let (Some(first), Some(last)) = (&self.page, &self.current) {
            self.forecast.learn(first, last, pages);
        }
    }

    /// The pages left of the range that starts at `start`, if anything measures them.
    pub fn pages_ahead(&self, start: &Position, learned: &Learned) -> Option<f64> {
        let (line, from, hi) = self.ahead(start, learned);
        let left = self.forecast.density.pages(line, from, hi)?;
        let size = match &self.axis {
            Axis::Rows(partition) if hi.is_none() => learned.sizes.expected(partition),
            _ => None,
        };
        // The line goes on where a partition may not.
        let most = size.map(|size| (size - self.forecast.before - self.pages).max(0.0));
        Some(most.map_or(left, |most| left.min(most)))
    }

    /// The position about that many pages ahead of what was read.
    pub fn position_ahead(
        &self,
        start: &Position,
        learned: &Learned,
        pages: f64,
    ) -> Option<Position> {
        let (line, from, hi) = self.ahead(start, learned);
        self.forecast.density.key(line, from, hi, pages).map(|key| self.on_axis(key))
    }

    /// The line of the keys ahead, where they begin, and their upper bound.
    fn ahead<'a>(
        &'a self,
        start: &'a Position,
        learned: &'a Learned,
    ) -> (&'a KeyLine, &'a str, Option<&'a str>) {
        let (_, hi) = self.line(learned);
        let (line, start) = match &self.axis {
            Axis::Partitions => (&learned.lines.partition, &start.pk),
            Axis::Rows(_) => (&learned.lines.row, &start.rk),
        };
        (line, self.current.as_ref().unwrap_or(start), hi)
    }

    fn on_axis(&self, key: String) -> Position {
        match &self.axis {
            Axis::Partitions => Position::partition(key),
            Axis::Rows(pk) => Position::new(pk.clone(), key),
        }
    }

    /// Ends the range after the partition that filled its last page, which it lies in from then
    /// on. Returns the part that it gives up: from a position, up to its former end.
    pub fn cut_behind_partition(&mut self) -> Option<(Position, Option<Position>)> {
        let page = self.single_partition.take()?;
        let behind = Position::partition(above(&page.partition));
        let end = self.end.replace(behind.clone());
        self.axis = Axis::Rows(page.partition);
        self.first = Some(page.first.clone());
        self.page = Some(page.first);
        self.current = Some(page.last);
        self.pages = page.pages;
        self.left = None;
        if end.as_ref().is_some_and(|end| *end <= behind) {
            self.end = end;
            return None;
        }
        Some((behind, end))
    }
}
