//! Partitions that come near their target, and the reports of them.

use crate::key::fnv;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What is counted together.
const WINDOW: Duration = Duration::from_secs(10);
/// The part of its target at which a partition is reported, and how often at most.
pub(super) const NEAR: f64 = 0.8;
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// A partition that was read and written nearly as fast as its target allows:
/// [`RateLimit::on_hot_partition`](super::RateLimit::on_hot_partition).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HotPartition {
    /// The table, in lower case.
    pub table: String,
    /// A hash of its PartitionKey, 16 hexadecimal digits, the same in every program; or the key itself,
    /// with [`RateLimit::show_keys`](super::RateLimit::show_keys).
    pub partition: String,
    /// Entities of up to 1 KiB, in a second on average over up to ten seconds.
    pub rate: u32,
    /// The rate that its service is asked for at most.
    pub target: u32,
}

/// Counts what a partition is asked for.
#[derive(Debug)]
pub(super) struct Meter {
    since: Instant,
    units: usize,
    reported: Option<Instant>,
}

impl Meter {
    pub(super) const fn new(now: Instant) -> Self {
        Self { since: now, units: 0, reported: None }
    }

    /// Counts units. Returns their rate once it is near the target, at most once a minute.
    pub(super) fn count(&mut self, units: usize, target: u32, now: Instant) -> Option<u32> {
        if self.is_idle(now) {
            (self.since, self.units) = (now, 0);
        }
        self.units += units;
        let rate = self.units as f64 / WINDOW.as_secs_f64();
        let is_due = self.reported.is_none_or(|reported| now >= reported + REPORT_EVERY);
        if rate < NEAR * f64::from(target) || !is_due {
            return None;
        }
        self.reported = Some(now);
        Some(rate as u32)
    }

    /// Whether its window is over.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        now >= self.since + WINDOW
    }
}

/// An app's own report.
type Report = dyn Fn(&HotPartition) + Send + Sync;

/// Where hot partitions are reported, and how they are named.
#[derive(Clone, Default)]
pub(super) struct Reports {
    pub(super) call: Option<Arc<Report>>,
    pub(super) shows_keys: bool,
}

impl Reports {
    pub(super) fn report(&self, (table, key): &(String, String), rate: u32, target: u32) {
        let partition =
            if self.shows_keys { key.clone() } else { format!("{:016x}", fnv(key.as_bytes())) };
        let hot = HotPartition { table: table.clone(), partition, rate, target };
        #[cfg(feature = "tracing")]
        tracing::event!(
            target: "table_orm",
            tracing::Level::WARN,
            db.collection.name = hot.table,
            table_orm.partition = hot.partition,
            table_orm.partition.rate = hot.rate,
            table_orm.partition.target = hot.target,
            "a partition is near its target; shard its key, or the service will throttle it"
        );
        #[cfg(feature = "metrics")]
        metrics::counter!("table_orm.partitions.hot", "table" => hot.table.clone()).increment(1);
        if let Some(call) = &self.call {
            call(&hot);
        }
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").field("shows_keys", &self.shows_keys).finish_non_exhaustive()
    }
}
