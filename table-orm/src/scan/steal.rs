//! Work stealing: where an idle worker cuts a range that another is reading.
//!
//! Only a range that has brought a page is split: its keys tell how much may be left. A split that
//! finds nothing (a miss) costs a request, so the distance that thieves start ahead shrinks with
//! each miss, and the misses of a scan are capped at two for each worker and one for each page.

use super::estimate::{ENDLESS, LEAST_PAGES};
use super::place::Place;
use super::range::{Axis, Phase, Range};
use super::state::State;

/// Guesses without an estimate, for each page read.
const GAMBLES: f64 = 0.3;

/// How promising a range is to split, best last.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Rank {
    Gamble(f64),
    Estimate(f64),
}

impl<T> State<T> {
    /// Splits the range with the largest remainder among all idle workers; returns a part.
    pub fn steal(&mut self) -> Option<Place> {
        self.measure();
        // A range without a key to split it at, or with nothing behind its partition, leaves the
        // next best.
        loop {
            let Some((victim, pages, gambled)) = self.victim() else {
                self.barren = true;
                return None;
            };
            let spent = self.report.misses as f64 > 2.0 * self.rules.workers as f64 + self.pages;
            let range = self.ranges.get_mut(&victim)?;
            if spent && range.tried {
                self.barren = true;
                return None;
            }
            range.tried = true;
            if gambled {
                self.gambles += 1.0;
            }
            let stolen = if range.large_partition().is_some() {
                self.cut_behind_partition(&victim)
            } else {
                self.split(&victim, pages, spent)
            };
            self.measure();
            if stolen.is_some() {
                return stolen;
            }
        }
    }

    /// Estimates what is left of the ranges that have changed.
    fn measure(&mut self) {
        let changed = |(_, range): &(&Place, &Range<T>)| {
            range.left.is_none() && range.current.is_some() && range.phase != Phase::Done
        };
        let estimates: Vec<_> = self
            .ranges
            .iter()
            .filter(changed)
            .map(|(place, range)| (place.clone(), range.estimate(&self.models, &self.rules)))
            .collect();
        for (place, left) in estimates {
            if let Some(range) = self.ranges.get_mut(&place) {
                range.left = Some(left);
            }
        }
    }

    fn victim(&self) -> Option<(Place, f64, bool)> {
        let workable = |range: &&Range<T>| !matches!(range.phase, Phase::Done | Phase::Parked);
        let unpaced = self.ranges.values().filter(workable).filter(|range| {
            range.partition().is_none_or(|partition| !self.limiter.is_paced(partition))
        });
        let crowded = self.limiter.is_crowded(unpaced.count(), self.page_rows());
        let mut best: Option<(Rank, &Place, f64)> = None;
        let open = self.ranges.iter().filter(|(_, range)| range.phase != Phase::Done);
        for (at, (place, range)) in open.enumerate() {
            let Some((rank, pages)) = self.rank(range, crowded, at) else { continue };
            if best.as_ref().is_none_or(|(most, ..)| rank > *most) {
                best = Some((rank, place, pages));
            }
        }
        best.map(|(rank, place, pages)| (place.clone(), pages, matches!(rank, Rank::Gamble(_))))
    }

    /// How promising a range is, and how many pages of it are left.
    fn rank(&self, range: &Range<T>, crowded: bool, at: usize) -> Option<(Rank, f64)> {
        range.current.as_ref().filter(|_| !range.barren)?;
        if matches!(&range.axis, Axis::Rows(pk) if self.limiter.is_paced(pk)) {
            return None;
        }
        let cut = range.large_partition();
        if crowded && !cut.is_some_and(|stuck| self.limiter.is_paced(&stuck.partition)) {
            return None;
        }
        let order = |size: f64| if self.rules.ordered { -(at as f64) } else { size };
        let left = if cut.is_some() { ENDLESS } else { range.left.unwrap_or_default() };
        if left >= 1.0 + LEAST_PAGES {
            return Some((Rank::Estimate(order(left)), left));
        }
        let gamble = !self.limiter.is_throttled()
            && !range.tried
            && self.gambles + 2.0 <= GAMBLES * self.pages;
        gamble.then(|| (Rank::Gamble(order(range.pages)), 1.0 + LEAST_PAGES))
    }

    /// Gives away what lies behind the partition that filled the last page.
    fn cut_behind_partition(&mut self, victim: &Place) -> Option<Place> {
        let (behind, end) = self.ranges.get_mut(victim)?.cut_behind_partition()?;
        Some(self.add(Axis::Partitions, behind, end, None))
    }

    /// Splits what a range has left, `pages` pages by estimate, in parts for all idle workers.
    fn split(&mut self, victim: &Place, pages: f64, spent: bool) -> Option<Place> {
        let range = self.ranges.get(victim)?;
        let most = ((pages - 1.0) / LEAST_PAGES).floor().max(1.0);
        let mut parts = most.min(self.hungry.max(1) as f64);
        if self.limiter.is_throttled() || spent {
            parts = parts.min(2.0);
        }
        // The page under way stays with the range.
        let gap = ((pages - 1.0) / (parts + 1.0)).min(range.ahead);
        let mut places: Vec<(f64, Place)> = (1..=parts as usize)
            .filter_map(|part| {
                let ahead = gap.mul_add(part as f64, 1.0);
                Some((ahead, range.point(&self.models, &self.rules, ahead / pages)?))
            })
            .collect();
        let (axis, ahead, end) = (range.axis.clone(), range.ahead, range.end.clone());
        places.sort_by(|(_, left), (_, right)| left.cmp(right));
        places.dedup_by(|(_, left), (_, right)| left == right);
        let range = self.ranges.get_mut(victim)?;
        let Some((_, first)) = places.first() else {
            range.barren = true;
            return None;
        };
        range.end = Some(first.clone());
        range.left = None;
        let ends = places.iter().skip(1).map(|(_, place)| Some(place.clone())).chain([end]);
        let ends: Vec<_> = ends.collect();
        for ((distance, place), end) in places.iter().zip(ends) {
            let place = self.add(axis.clone(), place.clone(), end, None);
            if let Some(part) = self.ranges.get_mut(&place) {
                part.parent = Some((victim.clone(), *distance));
                part.ahead = ahead;
            }
        }
        let mut places = places.into_iter().map(|(_, place)| place);
        let nearest = places.next();
        self.ready.extend(places);
        nearest
    }
}
