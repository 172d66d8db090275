//! What a worker reads next where rows leave in order: the earliest range with room for its pages, or
//! a new one, cut from the earliest range that is worth a cut.
//!
//! The table is cut a few pages ahead of what is being read, so that the pages in memory are the next
//! ones the consumer needs. Invariants: the buffer always has room for the earliest range, so the scan
//! goes on however far the others are; a part that is cut off is read at once.
//!
//! Figures are pages. They were found by simulation: longer parts fill the buffer with rows that are
//! far from their turn, and shorter ones cost a page's rest each.

use super::position::Position;
use super::range::{Axis, Range, RangePhase};
use super::ranges::Ranges;
use super::rules::LOOK_AHEAD;
use super::state::ScanState;
use crate::scan::pace::Limiter;

/// The size of a part.
const PART: f64 = 4.0;
/// The remainder after the page in flight that is worth a cut.
const LONG: f64 = 7.0;
/// The same where nothing else is.
const SHORT: f64 = 2.0;

/// Where a range is cut.
enum Cut {
    BehindPartition(Position),
    /// The range, its new end, and how many pages ahead that is.
    At(Position, Position, f64),
}

impl<T> ScanState<T> {
    /// The range that an idle worker reads next.
    pub(super) fn next_in_order(&mut self) -> Option<Position> {
        self.ranges.measure_ahead();
        if let Some(start) = self.ranges.earliest_unread().cloned()
            && self.has_room(&start)
        {
            self.ranges.take_unread(&start);
            return Some(start);
        }
        if !self.rules.is_adaptive() {
            return None;
        }
        loop {
            match self.find_cut()? {
                Cut::At(start, middle, pages) => {
                    return Some(self.ranges.cut_at(&start, middle, pages));
                }
                Cut::BehindPartition(start) => {
                    if let Some(behind) = self.ranges.leave_partition(&start) {
                        return Some(behind);
                    }
                    // It was the last partition, in which it can be cut now.
                    self.ranges.measure_ahead();
                }
            }
        }
    }

    /// Whether the buffer has room for the next page of a range.
    pub(super) fn has_room(&self, start: &Position) -> bool {
        let mut open = self.open_ranges();
        let Some((earliest, ..)) = open.next() else { return true };
        let ahead = open.find(|(open, ..)| *open == start).map(|(.., ahead)| ahead);
        match ahead {
            Some(ahead) if earliest != start => self.delivery.has_room(ahead),
            // With nothing to take, the consumer waits for this very page.
            _ => self.delivery.has_room_for_earliest() || !self.has_page_before(start),
        }
    }

    /// Whether a page waits that is before what a range reads next.
    fn has_page_before(&self, start: &Position) -> bool {
        self.ranges.by_start.range(..=start).any(|(start, _)| self.delivery.holds(start))
    }

    /// The ranges not read to their end, and the bytes before what each reads next: of pages that
    /// wait, and of those expected in earlier ranges.
    fn open_ranges(&self) -> impl Iterator<Item = (&Position, &Range, f64)> {
        let page = self.delivery.page_bytes();
        let mut before = 0.0;
        self.ranges.iter().filter_map(move |(start, range)| {
            before += self.delivery.bytes_of(start);
            let ahead = before;
            let open = range.phase != RangePhase::Done;
            if open {
                before += range.left.unwrap_or_default() * page;
            }
            open.then_some((start, range, ahead))
        })
    }

    /// The first cut that is worth it.
    fn find_cut(&self) -> Option<Cut> {
        let (limiter, learned) = (&self.pace.limiter, &self.ranges.learned);
        let is_paced = |range: &Range| range.partition().is_some_and(|pk| limiter.is_paced(pk));
        let running = |range: &&Range| range.phase == RangePhase::Running && !is_paced(range);
        let reading = self.ranges.by_start.values().filter(running).count();
        if limiter.is_crowded(reading, learned.page_rows()) {
            return self.behind_paced_partition(limiter);
        }
        if learned.poor as f64 > 2.0_f64.mul_add(self.rules.workers as f64, learned.pages / 2.0) {
            return None;
        }
        let page = self.delivery.page_bytes();
        for worth in [LONG, SHORT] {
            for (start, range, ahead) in self.open_ranges() {
                if !self.delivery.has_room(ahead + page) {
                    break;
                }
                if range.fills_partition()
                    && (learned.sizes.are_large() || range.large_partition().is_some())
                {
                    return Some(Cut::BehindPartition(start.clone()));
                }
                let Some(left) = range.left.filter(|left| left - 1.0 >= worth) else { continue };
                // The page in flight stays with the range.
                let pages = 1.0 + PART.min((left - 1.0) / 2.0);
                if is_paced(range)
                    || range.forecast.unread + pages > LOOK_AHEAD
                    || !self.delivery.has_room(pages.mul_add(page, ahead))
                {
                    continue;
                }
                if let Some(middle) = range.position_ahead(start, learned, pages) {
                    return Some(Cut::At(start.clone(), middle, pages));
                }
            }
        }
        None
    }

    /// A cut after a partition that the service slows down, so that others can be read meanwhile.
    fn behind_paced_partition(&self, limiter: &Limiter) -> Option<Cut> {
        let is_slow = |range: &Range| {
            range.fills_partition() && range.partition().is_some_and(|pk| limiter.is_paced(pk))
        };
        let mut open = self.open_ranges();
        let slow = open.find(|(_, range, ahead)| is_slow(range) && self.delivery.has_room(*ahead));
        slow.map(|(start, ..)| Cut::BehindPartition(start.clone()))
    }
}

impl Range {
    /// Whether its last page lay in one partition, after which it can be cut.
    fn fills_partition(&self) -> bool {
        self.axis == Axis::Partitions && self.single_partition.is_some()
    }
}

impl Ranges {
    /// Estimates what is left of the ranges that have changed, or of all once the lines have.
    fn measure_ahead(&mut self) {
        let version = self.learned.lines.version();
        let all = version != self.measured;
        self.measured = version;
        for (start, range) in &mut self.by_start {
            if range.phase != RangePhase::Done && (all || range.left.is_none()) {
                range.left = range.pages_ahead(start, &self.learned);
            }
        }
    }

    /// Cuts a range after the partition that filled its last page; returns what lies after it.
    fn leave_partition(&mut self, start: &Position) -> Option<Position> {
        let mut forecast = std::mem::take(&mut self.by_start.get_mut(start)?.forecast);
        let behind = self.cut_behind_partition(start);
        if let Some(range) = self.by_start.get_mut(start)
            && let Axis::Rows(partition) = &range.axis
        {
            let (partition, pages) = (partition.clone(), range.pages);
            range.learn_ahead(pages);
            range.is_cut = true;
            self.learned.sizes.read(&partition, pages);
            let size = self.learned.sizes.expected(&partition).unwrap_or(pages);
            forecast.leave_partition(size, pages);
        }
        let behind = behind?;
        self.by_start.get_mut(&behind)?.forecast = forecast;
        Some(behind)
    }

    /// Cuts a range `pages` pages ahead; returns the upper part.
    fn cut_at(&mut self, start: &Position, middle: Position, pages: f64) -> Position {
        let Some(range) = self.by_start.get_mut(start) else { return middle };
        let end = range.end.replace(middle.clone());
        range.left = None;
        range.is_cut = true;
        let axis = range.axis.clone();
        let forecast = range.forecast.of_part(range.pages + pages, pages);
        let middle = self.add(axis, middle, end, None);
        if let Some(part) = self.by_start.get_mut(&middle) {
            part.forecast = forecast;
            part.parent = Some((start.clone(), pages));
        }
        middle
    }
}
