//! How many requests are in flight, and when the next may be sent: slow start and pacers.

use super::pacer::Pacer;
use crate::model::PARTITION_TARGET;
use std::collections::HashMap;

/// Requests in flight at the start; one more after each answer.
const SLOW_START: f64 = 4.0;
/// The account's slowest starting rate, rows a second; its documented target is 20,000.
const ACCOUNT_FLOOR: f64 = 8_000.0;
/// A partition's slowest starting rate, rows a second.
const PARTITION_FLOOR: f64 = 1_000.0;
/// More idle partitions than these are forgotten.
const REMEMBERED: usize = 1_000;

/// One pacer for the account, one for each partition that a range lies in.
#[derive(Debug)]
pub(in crate::scan) struct Limiter {
    most: f64,
    limit: f64,
    busy: usize,
    account: Pacer,
    partitions: HashMap<String, Pacer>,
    /// The rate of the partition throttled last: the next one hardly has a higher target.
    partition_rate: f64,
    peak: f64,
}

impl Limiter {
    pub fn new(workers: usize) -> Self {
        let most = workers as f64;
        Self {
            most,
            limit: SLOW_START.min(most),
            busy: 0,
            account: Pacer::new(ACCOUNT_FLOOR),
            partitions: HashMap::new(),
            partition_rate: f64::INFINITY,
            peak: 0.0,
        }
    }

    /// Takes one of the requests that may be in flight, if one is free.
    pub fn enter(&mut self) -> bool {
        let free = (self.busy as f64) < self.limit.floor();
        self.busy += usize::from(free);
        free
    }

    /// A request is no longer in flight.
    pub const fn leave(&mut self) {
        self.busy = self.busy.saturating_sub(1);
    }

    /// When a page of that partition may be sent, as far as the partition is concerned.
    pub fn reserve_partition(&mut self, now: f64, partition: Option<&str>, page: f64) -> f64 {
        let pacer = partition.and_then(|partition| self.partitions.get_mut(partition));
        pacer.map_or(now, |pacer| pacer.reserve(now, page))
    }

    /// When a page may be sent, as far as the account is concerned.
    pub fn reserve_account(&mut self, now: f64, page: f64) -> f64 {
        self.account.reserve(now, page)
    }

    /// A request has brought rows.
    pub fn answered(&mut self, now: f64, partition: Option<&str>, rows: f64, page: f64) {
        if let Some(partition) = partition {
            self.partition(now, partition).sustained(now, rows, page);
        }
        self.account.sustained(now, rows, page);
        self.limit = (self.limit + 1.0).min(self.most);
    }

    /// A request sent at `issued` was throttled. A partition that was just read fast is to blame:
    /// faster than its target, while the account is read faster than when it was last throttled.
    /// Otherwise the account is to blame, unless it has sustained much more recently.
    pub fn throttled(&mut self, now: f64, partition: Option<&str>, issued: f64) {
        if let Some(partition) = partition {
            let (fast, most) = (self.account.is_fast(), self.partition_rate);
            let pacer = self.partition(now, partition);
            let recent = pacer.recent();
            let to_blame =
                if fast { recent > f64::from(PARTITION_TARGET) } else { recent >= PARTITION_FLOOR };
            if to_blame {
                self.partition_rate = pacer.throttled(now, issued, most);
                return;
            }
        }
        let recent = self.account.recent();
        self.peak = (0.98 * self.peak).max(recent);
        if recent >= 0.6 * self.peak {
            self.account.throttled(now, issued, f64::INFINITY);
        }
    }

    /// Whether a partition proved hot.
    pub fn is_paced(&self, partition: &str) -> bool {
        self.partitions.get(partition).is_some_and(|pacer| pacer.rate().is_some())
    }

    /// Whether the service has throttled the account.
    pub fn is_throttled(&self) -> bool {
        self.account.rate().is_some()
    }

    /// Whether the account's rate, not the number of ranges, limits the scan.
    pub fn is_crowded(&self, ranges: usize, page: f64) -> bool {
        let enough = |rate: f64| (2.0 + (rate * 0.1 / page).floor()).max(3.0);
        self.account.rate().is_some_and(|rate| ranges as f64 >= enough(rate))
    }

    /// The partitions that proved hot.
    pub fn hot(&self) -> Vec<String> {
        let mut hot: Vec<_> = self
            .partitions
            .iter()
            .filter(|(_, pacer)| pacer.rate().is_some())
            .map(|(partition, _)| partition.clone())
            .collect();
        hot.sort_unstable();
        hot
    }

    fn partition(&mut self, now: f64, partition: &str) -> &mut Pacer {
        if self.partitions.len() >= REMEMBERED && !self.partitions.contains_key(partition) {
            self.partitions.retain(|_, pacer| !pacer.is_idle(now));
        }
        self.partitions.entry(partition.to_owned()).or_insert_with(|| Pacer::new(PARTITION_FLOOR))
    }
}
