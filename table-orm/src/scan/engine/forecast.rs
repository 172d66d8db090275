//! What a range knows of the keys ahead, where rows leave in order.

use super::density::Density;
use std::collections::VecDeque;

/// The large partitions in a row that measure those after them.
const TRAIL: usize = 8;

/// What a range knows of the keys ahead.
#[derive(Debug, Clone, Default)]
pub(super) struct Forecast {
    pub density: Density,
    /// The pages from the last one read to the range's start, by estimate; none once it was read.
    pub unread: f64,
    /// The pages of its partition before the range's start, by estimate.
    pub before: f64,
    trail: Trail,
}

impl Forecast {
    /// What a part knows that is cut off, `ahead` pages after the range's start.
    pub fn of_part(&self, ahead: f64, unread: f64) -> Self {
        let (before, unread) = (self.before + ahead, self.unread + unread);
        Self { density: self.density.clone(), unread, before, trail: Trail::default() }
    }

    /// Takes a page as a measure, by its first and last key. A page in one partition measures with
    /// the large partitions before it.
    pub fn learn(&mut self, first: &str, last: &str, pages: f64) {
        self.unread = 0.0;
        if first == last {
            let measured = self.trail.enter(last);
            if let Some((first, pages)) = measured {
                self.density.learn(&first, last, pages);
            }
        } else {
            self.density.learn(first, last, pages);
        }
        self.trail.pages += pages;
    }

    /// The range goes on after a partition of about that many pages, of which `read` were read.
    pub fn leave_partition(&mut self, size: f64, read: f64) {
        self.trail.pages += (size - read).max(0.0);
    }
}

/// Large partitions in a row, each with the pages before it.
#[derive(Debug, Clone, Default)]
struct Trail {
    partitions: VecDeque<(String, f64)>,
    pages: f64,
}

impl Trail {
    /// A page begins in a partition. Returns the first partition in the row, and the pages since,
    /// where that is another one.
    fn enter(&mut self, partition: &str) -> Option<(String, f64)> {
        if self.partitions.back().is_some_and(|(last, _)| last == partition) {
            return None;
        }
        self.partitions.push_back((partition.to_owned(), self.pages));
        if self.partitions.len() > TRAIL {
            self.partitions.pop_front();
        }
        let (first, before) = self.partitions.front().filter(|(first, _)| first != partition)?;
        Some((first.clone(), self.pages - before))
    }
}
