//! How much of a range is left, and where to cut it: what is learned from its pages.

use super::key_model::{KeyModel, KeyModels};
use super::page_keys::PageKeys;
use super::place::{Place, ScanKey, above};
use super::range::{Axis, Range, Stuck};
use super::state::Rules;
use crate::property::PropertyError;

/// Pages that must remain behind the one under way, for a split to be worth it.
pub(super) const LEAST_PAGES: f64 = 2.0;
/// A remainder longer than this is as good as endless.
pub(super) const ENDLESS: f64 = 1e9;

impl<T> Range<T> {
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

    /// Takes note of where a page began and ended.
    pub fn advance(
        &mut self,
        first: &ScanKey,
        last: &ScanKey,
        pages: f64,
        sparse: bool,
        may_stick: bool,
    ) {
        let before = self.committed.take().filter(|_| sparse);
        let from = before.map_or_else(
            || first.clone(),
            |before| ScanKey {
                partition_key: before.pk.trim_end_matches('\0').to_owned(),
                row_key: before.rk.trim_end_matches('\0').to_owned(),
            },
        );
        let on_axis = |key: &ScanKey| match self.axis {
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
        self.barren = false;
        self.left = None;
        let stuck = may_stick
            && self.axis == Axis::Partitions
            && pages >= 0.5
            && from.partition_key == last.partition_key;
        self.stuck = stuck.then(|| Stuck {
            partition: last.partition_key.clone(),
            first: from.row_key,
            last: last.row_key.clone(),
            pages,
            large: before.as_ref() == Some(&last.partition_key),
        });
    }

    /// The pages left, by the density of the whole range or of its last page.
    pub fn estimate(&self, models: &KeyModels, rules: &Rules) -> f64 {
        let (model, hi) = self.line(models, rules);
        let Some(current) = &self.current else { return 0.0 };
        let densities = [(&self.first, self.pages), (&self.page, 1.0)];
        let known = densities.into_iter().filter_map(|(since, pages)| {
            let (used, left) = model.distance(since.as_ref()?, current, hi);
            (used > 0.0).then(|| pages * left / used)
        });
        let left = known.reduce(f64::max).unwrap_or_else(|| {
            // A page of one partition tells nothing of those behind it.
            let one = self.axis == Axis::Partitions && self.first.as_ref() == Some(current);
            let unknown = one || rules.is_sparse() || rules.keys_only;
            if unknown { 0.0 } else { ENDLESS }
        });
        left.min(ENDLESS)
    }

    /// The place at that fraction of what is left.
    pub fn point(&self, models: &KeyModels, rules: &Rules, fraction: f64) -> Option<Place> {
        let (model, hi) = self.line(models, rules);
        let key = model.point(self.current.as_ref()?, hi, fraction)?;
        Some(match &self.axis {
            Axis::Partitions => Place::partition(key),
            Axis::Rows(pk) => Place::new(pk.clone(), key),
        })
    }

    /// The keys it is measured on, and its upper bound among them.
    fn line<'a>(
        &'a self,
        models: &'a KeyModels,
        rules: &'a Rules,
    ) -> (&'a KeyModel, Option<&'a str>) {
        match &self.axis {
            Axis::Partitions => (&models.partition, self.hi()),
            Axis::Rows(_) => (&models.row, self.hi().or(rules.rows.1.as_deref())),
        }
    }

    /// Ends the range behind the partition that filled its last page, which it lies in from then
    /// on. Returns what it gives away: from a place, up to its former end.
    pub fn cut_behind_partition(&mut self) -> Option<(Place, Option<Place>)> {
        let stuck = self.stuck.take()?;
        let behind = Place::partition(above(&stuck.partition));
        let end = self.end.replace(behind.clone());
        self.axis = Axis::Rows(stuck.partition);
        self.first = Some(stuck.first.clone());
        self.page = Some(stuck.first);
        self.current = Some(stuck.last);
        self.pages = stuck.pages;
        self.left = None;
        if end.as_ref().is_some_and(|end| *end <= behind) {
            self.end = end;
            return None;
        }
        Some((behind, end))
    }
}
