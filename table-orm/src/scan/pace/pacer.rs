//! The rate a scan keeps to once the service has throttled it, in rows a second.
//!
//! The service counts entities, not requests. Free until the first 503; then it starts at what the
//! last second has sustained. A 503 of a request sent after the last cut lowers the rate by 10 %;
//! it rises by 1 % a second, and 2 % more for each second without a 503, to at most 25 %. Near the
//! rate of the last 503 it rises a tenth as fast, because the next 503 is likely there.
//!
//! Invariant: no rise takes the rate beyond a few times what was requested recently, and no cut
//! starts from more. A rate that nobody reaches says nothing about the service, and takes many cuts
//! to correct.

use crate::sync::TokenBucket;
use std::collections::VecDeque;

/// Rates within this share of the rate of the last 503 count as near it.
const NEAR: f64 = 0.03;
/// The rate is at most this many times what was requested recently.
const AHEAD: f64 = 4.0;

/// Paces the account, or one partition. Times are seconds since the scan's start.
#[derive(Debug)]
pub(super) struct Pacer {
    /// The rate never starts below this, and never falls below a quarter of it.
    floor: f64,
    rate: Option<f64>,
    /// What a page of the rate takes.
    bucket: TokenBucket<f64>,
    log: VecDeque<PacedPage>,
    cut: f64,
    grown: f64,
    /// The rate of the last 503.
    throttled_rate: f64,
}

#[derive(Debug)]
struct PacedPage {
    at: f64,
    rows: f64,
    /// The rows that were reserved for it.
    page: f64,
}

impl Pacer {
    pub const fn new(floor: f64) -> Self {
        Self {
            floor,
            rate: None,
            bucket: TokenBucket::new(0.0),
            log: VecDeque::new(),
            cut: 0.0,
            grown: 0.0,
            throttled_rate: 0.0,
        }
    }

    pub const fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Reserves a page of `page` rows, and says when it may be sent.
    pub fn reserve(&mut self, now: f64, page: f64) -> f64 {
        let Some(rate) = self.rate else { return now };
        let growth = (0.01 + 0.02 * (now - self.cut)).min(0.25);
        let near = (rate / self.throttled_rate - 1.0).abs() <= NEAR;
        let growth = 1.0 + if near { growth / 10.0 } else { growth };
        let grown = rate * growth.powf(now - self.grown);
        let rate = grown.min(self.most()).max(rate);
        self.rate = Some(rate);
        self.grown = now;
        self.bucket.take(now, page / rate)
    }

    /// Rows came; the unused part of a page's reservation is returned.
    pub fn sustained(&mut self, now: f64, rows: f64, page: f64) {
        self.log.push_back(PacedPage { at: now, rows, page });
        self.forget(now);
        if let Some(rate) = self.rate {
            self.bucket.give_back((page - rows) / rate);
        }
    }

    /// A request sent at `issued` was throttled. Returns the rate from now on, which begins at no
    /// more than `most`.
    pub fn throttled(&mut self, now: f64, issued: f64, most: f64) -> f64 {
        let too_fast = match self.rate {
            Some(rate) if issued < self.cut => return rate,
            Some(rate) => rate.min(self.most()),
            None => self.recent().min(most).max(self.floor),
        };
        let rate = (too_fast * 0.9).max(self.floor / 4.0);
        self.throttled_rate = too_fast;
        self.rate = Some(rate);
        self.cut = now;
        self.grown = now;
        rate
    }

    /// Whether rows came faster than at the rate of the last 503.
    pub fn is_fast(&self) -> bool {
        self.rate.is_some() && self.recent() > self.throttled_rate
    }

    /// The rows of the second before the last answer.
    pub fn recent(&self) -> f64 {
        self.log.iter().map(|page| page.rows).sum()
    }

    /// The highest rate that says something about the service. It counts the pages of that second, not
    /// their rows, because a filter may leave out all rows.
    fn most(&self) -> f64 {
        let asked: f64 = self.log.iter().map(|page| page.page).sum();
        AHEAD * asked.max(self.floor)
    }

    /// Whether it has nothing to remember.
    pub fn is_idle(&mut self, now: f64) -> bool {
        self.forget(now);
        self.rate.is_none() && self.log.is_empty()
    }

    fn forget(&mut self, now: f64) {
        while self.log.front().is_some_and(|page| page.at < now - 1.0) {
            self.log.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pacer_is_free_until_throttled_and_then_spaces_pages() {
        let mut pacer = Pacer::new(1000.0);
        assert!(pacer.reserve(5.0, 1000.0) <= 5.0);
        for _ in 0..4 {
            pacer.sustained(5.0, 1000.0, 1000.0);
        }
        pacer.throttled(5.0, 4.9, 9000.0);
        assert_eq!(pacer.rate(), Some(3600.0));
        pacer.throttled(5.0, 4.9, 9000.0);
        assert_eq!(pacer.rate(), Some(3600.0), "sent before the cut");
        let first = pacer.reserve(5.0, 1000.0);
        let second = pacer.reserve(5.0, 1000.0);
        assert!((second - first - 1000.0 / 3600.0).abs() < 1e-9);
    }

    #[test]
    fn a_long_quiet_leaves_the_rate_within_reach_of_what_is_read() {
        for pause in [false, true] {
            let mut pacer = Pacer::new(1000.0);
            pacer.sustained(0.0, 2000.0, 1000.0);
            pacer.throttled(0.0, 0.0, f64::INFINITY);
            // For ten minutes the consumer takes 2000 rows a second, or none.
            let mut now = 0.0;
            while now < 600.0 {
                now += 0.5;
                if !pause {
                    pacer.reserve(now, 1000.0);
                    pacer.sustained(now, 1000.0, 1000.0);
                }
            }
            pacer.reserve(now, 1000.0);
            let mut cuts = 0;
            while pacer.rate().unwrap() > 2000.0 && cuts < 100 {
                now += 0.1;
                pacer.throttled(now, now, f64::INFINITY);
                cuts += 1;
            }
            assert!(cuts < 20, "{cuts}, {pause}");
        }
    }

    #[test]
    fn pages_without_rows_do_not_hold_the_rate_down() {
        let mut pacer = Pacer::new(1000.0);
        pacer.sustained(0.0, 0.0, 1000.0);
        pacer.throttled(0.0, 0.0, f64::INFINITY);
        // Twenty requests side by side, each of a second.
        for second in 1..60 {
            let now = f64::from(second);
            for _ in 0..20 {
                pacer.reserve(now, 1000.0);
                pacer.sustained(now, 0.0, 1000.0);
            }
        }
        assert!(pacer.rate().unwrap() > 20_000.0, "{pacer:?}");
    }

    #[test]
    fn a_pacer_begins_at_no_more_than_it_may_and_is_fast_beyond_what_was_throttled() {
        let mut pacer = Pacer::new(1000.0);
        pacer.sustained(5.0, 3000.0, 1000.0);
        assert!(!pacer.is_fast(), "never throttled");
        assert_eq!(pacer.throttled(5.0, 4.9, 2000.0), 1800.0);
        assert!(pacer.is_fast());
        pacer.sustained(6.5, 2000.0, 1000.0);
        assert!(!pacer.is_fast());
    }
}
