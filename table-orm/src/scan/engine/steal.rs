//! Work stealing: where an idle worker cuts a range that another is reading.
//!
//! Only a range that has returned a page is split: its keys show how much may be left. A split that
//! finds nothing (a miss) costs a request. So the distance that stealers start ahead shrinks with each
//! miss, and a scan may have two misses for each worker and one for each page.

use super::density::ENDLESS;
use super::estimate::LEAST_PAGES;
use super::position::Position;
use super::range::{Axis, Range, RangePhase};
use super::ranges::Ranges;
use crate::scan::pace::Limiter;

/// Guesses without an estimate, for each page read.
const SPECULATION: f64 = 0.3;

/// How promising a range is to split, best last.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Rank {
    Speculative(f64),
    Estimate(f64),
}

impl Ranges {
    /// Splits the range with the largest remainder among all idle workers; returns a part.
    pub(super) fn steal(&mut self, limiter: &Limiter) -> Option<Position> {
        if self.open == 0 || self.exhausted {
            return None;
        }
        self.measure();
        // If a range has no key to split it at, or nothing after its partition, the next best is tried.
        loop {
            let Some((victim, pages, is_speculative)) = self.victim(limiter) else {
                self.exhausted = true;
                return None;
            };
            let spent = self.learned.has_spent_misses();
            let range = self.by_start.get_mut(&victim)?;
            if spent && range.tried {
                self.exhausted = true;
                return None;
            }
            range.tried = true;
            if is_speculative {
                self.learned.speculative += 1.0;
            }
            let stolen = if range.large_partition().is_some() {
                self.cut_behind_partition(&victim)
            } else {
                self.split(&victim, pages, spent || limiter.is_throttled())
            };
            self.measure();
            if stolen.is_some() {
                return stolen;
            }
        }
    }

    /// Estimates what is left of the ranges that have changed.
    fn measure(&mut self) {
        let changed = |(_, range): &(&Position, &Range)| {
            range.left.is_none() && range.current.is_some() && range.phase != RangePhase::Done
        };
        let estimates: Vec<_> = self
            .by_start
            .iter()
            .filter(changed)
            .map(|(start, range)| (start.clone(), range.estimate(&self.learned)))
            .collect();
        for (start, left) in estimates {
            if let Some(range) = self.by_start.get_mut(&start) {
                range.left = Some(left);
            }
        }
    }

    /// The range to split, the pages it has left, and whether those are only a guess.
    fn victim(&self, limiter: &Limiter) -> Option<(Position, f64, bool)> {
        let workable =
            |range: &&Range| !matches!(range.phase, RangePhase::Done | RangePhase::Parked);
        let unpaced =
            self.by_start.values().filter(workable).filter(|range| {
                range.partition().is_none_or(|partition| !limiter.is_paced(partition))
            });
        let crowded = limiter.is_crowded(unpaced.count(), self.learned.page_rows());
        let mut best: Option<(Rank, &Position, f64)> = None;
        let open = self.by_start.iter().filter(|(_, range)| range.phase != RangePhase::Done);
        for (start, range) in open {
            let Some((rank, pages)) = self.rank(range, crowded, limiter) else { continue };
            if best.as_ref().is_none_or(|(most, ..)| rank > *most) {
                best = Some((rank, start, pages));
            }
        }
        best.map(|(rank, start, pages)| {
            (start.clone(), pages, matches!(rank, Rank::Speculative(_)))
        })
    }

    /// How promising a range is, and how many pages of it are left.
    fn rank(&self, range: &Range, crowded: bool, limiter: &Limiter) -> Option<(Rank, f64)> {
        range.current.as_ref().filter(|_| !range.unsplittable)?;
        if matches!(&range.axis, Axis::Rows(pk) if limiter.is_paced(pk)) {
            return None;
        }
        let cut = range.large_partition();
        if crowded && !cut.is_some_and(|cut| limiter.is_paced(&cut.partition)) {
            return None;
        }
        let left = if cut.is_some() { ENDLESS } else { range.left.unwrap_or_default() };
        if left >= 1.0 + LEAST_PAGES {
            return Some((Rank::Estimate(left), left));
        }
        let speculative = !limiter.is_throttled()
            && !range.tried
            && self.learned.speculative + 2.0 <= SPECULATION * self.learned.pages;
        speculative.then_some((Rank::Speculative(range.pages), 1.0 + LEAST_PAGES))
    }

    /// Splits off what lies after the partition that filled the last page.
    pub(super) fn cut_behind_partition(&mut self, victim: &Position) -> Option<Position> {
        let (behind, end) = self.by_start.get_mut(victim)?.cut_behind_partition()?;
        Some(self.add(Axis::Partitions, behind, end, None))
    }

    /// Splits what a range has left, `pages` pages by estimate, in parts for all idle workers, or in
    /// two.
    fn split(&mut self, victim: &Position, pages: f64, in_two: bool) -> Option<Position> {
        let range = self.by_start.get(victim)?;
        let most = ((pages - 1.0) / LEAST_PAGES).floor().max(1.0);
        let mut parts = most.min(self.idle.max(1) as f64);
        if in_two {
            parts = parts.min(2.0);
        }
        // The page in flight stays with the range.
        let gap = ((pages - 1.0) / (parts + 1.0)).min(range.ahead);
        let mut starts: Vec<(f64, Position)> = (1..=parts as usize)
            .filter_map(|part| {
                let ahead = gap.mul_add(part as f64, 1.0);
                Some((ahead, range.point(&self.learned, ahead / pages)?))
            })
            .collect();
        let (axis, ahead, end) = (range.axis.clone(), range.ahead, range.end.clone());
        starts.sort_by(|(_, left), (_, right)| left.cmp(right));
        starts.dedup_by(|(_, left), (_, right)| left == right);
        let range = self.by_start.get_mut(victim)?;
        let Some((_, first)) = starts.first() else {
            range.unsplittable = true;
            return None;
        };
        range.end = Some(first.clone());
        range.left = None;
        let ends = starts.iter().skip(1).map(|(_, start)| Some(start.clone())).chain([end]);
        let ends: Vec<_> = ends.collect();
        for ((distance, start), end) in starts.iter().zip(ends) {
            let start = self.add(axis.clone(), start.clone(), end, None);
            if let Some(part) = self.by_start.get_mut(&start) {
                part.parent = Some((victim.clone(), *distance));
                part.ahead = ahead;
            }
        }
        let mut starts = starts.into_iter().map(|(_, start)| start);
        let nearest = starts.next();
        self.ready.extend(starts);
        nearest
    }
}
