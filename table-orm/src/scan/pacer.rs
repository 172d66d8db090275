//! The rate a scan keeps to once the service has throttled it, in entities a second.
//!
//! The service counts entities, not requests. Free until the first 503; then it starts at what the
//! last second has sustained. A 503 of a request sent after the last cut lowers the rate by 10 %;
//! it rises by 1 % a second, and 2 % more for each second without a 503, to at most 25 %. Near the
//! rate that was refused last it rises a tenth as fast, for there the next 503 is to be expected.

use std::collections::VecDeque;

/// How near to the rate refused last is near.
const NEAR: f64 = 0.03;

/// Paces the account, or one partition. Times are seconds since the scan's start.
#[derive(Debug)]
pub(super) struct Pacer {
    /// The rate never starts below this, nor falls below a quarter of it.
    floor: f64,
    rate: Option<f64>,
    next: f64,
    log: VecDeque<(f64, f64)>,
    cut: f64,
    grown: f64,
    /// The rate that was refused last.
    refused: f64,
}

impl Pacer {
    pub const fn new(floor: f64) -> Self {
        Self {
            floor,
            rate: None,
            next: 0.0,
            log: VecDeque::new(),
            cut: 0.0,
            grown: 0.0,
            refused: 0.0,
        }
    }

    pub const fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Reserves a page of `page` rows, and says when it may be sent.
    pub fn reserve(&mut self, now: f64, page: f64) -> f64 {
        let Some(rate) = &mut self.rate else { return now };
        let growth = (0.01 + 0.02 * (now - self.cut)).min(0.25);
        let near = (*rate / self.refused - 1.0).abs() <= NEAR;
        let growth = 1.0 + if near { growth / 10.0 } else { growth };
        *rate *= growth.powf(now - self.grown);
        self.grown = now;
        let at = now.max(self.next);
        self.next = at + page / *rate;
        at
    }

    /// Rows came; the unused part of a page's reservation is given back.
    pub fn sustained(&mut self, now: f64, rows: f64, page: f64) {
        self.log.push_back((now, rows));
        self.forget(now);
        if let Some(rate) = self.rate {
            self.next -= (page - rows) / rate;
        }
    }

    /// A request sent at `issued` was refused. Returns the rate from now on, which begins at no
    /// more than `most`.
    pub fn refused(&mut self, now: f64, issued: f64, most: f64) -> f64 {
        let too_fast = match self.rate {
            Some(rate) if issued < self.cut => return rate,
            Some(rate) => rate,
            None => self.recent().min(most).max(self.floor),
        };
        let rate = (too_fast * 0.9).max(self.floor / 4.0);
        self.refused = too_fast;
        self.rate = Some(rate);
        self.cut = now;
        self.grown = now;
        rate
    }

    /// Whether rows have come faster than at the rate refused last.
    pub fn is_fast(&self) -> bool {
        self.rate.is_some() && self.recent() > self.refused
    }

    /// The rows of the second before the last answer.
    pub fn recent(&self) -> f64 {
        self.log.iter().map(|(_, rows)| rows).sum()
    }

    /// Whether it has nothing to remember.
    pub fn is_idle(&mut self, now: f64) -> bool {
        self.forget(now);
        self.rate.is_none() && self.log.is_empty()
    }

    fn forget(&mut self, now: f64) {
        while self.log.front().is_some_and(|(at, _)| *at < now - 1.0) {
            self.log.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pacer_is_free_until_refused_and_then_spaces_pages() {
        let mut pacer = Pacer::new(1000.0);
        assert!(pacer.reserve(5.0, 1000.0) <= 5.0);
        for _ in 0..4 {
            pacer.sustained(5.0, 1000.0, 1000.0);
        }
        pacer.refused(5.0, 4.9, 9000.0);
        assert_eq!(pacer.rate(), Some(3600.0));
        pacer.refused(5.0, 4.9, 9000.0);
        assert_eq!(pacer.rate(), Some(3600.0), "sent before the cut");
        let first = pacer.reserve(5.0, 1000.0);
        let second = pacer.reserve(5.0, 1000.0);
        assert!((second - first - 1000.0 / 3600.0).abs() < 1e-9);
    }

    #[test]
    fn a_pacer_begins_at_no_more_than_it_may_and_is_fast_beyond_what_was_refused() {
        let mut pacer = Pacer::new(1000.0);
        pacer.sustained(5.0, 3000.0, 1000.0);
        assert!(!pacer.is_fast(), "never refused");
        assert_eq!(pacer.refused(5.0, 4.9, 2000.0), 1800.0);
        assert!(pacer.is_fast());
        pacer.sustained(6.5, 2000.0, 1000.0);
        assert!(!pacer.is_fast());
    }
}
