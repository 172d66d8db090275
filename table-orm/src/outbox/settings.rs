//! How events are handed on.

use std::time::Duration;

/// The time for which a process has the events of a partition to itself, unless the call sets another one: 1
/// minute. It renews the lease while it works. If it ends, others take over after that time.
pub const OUTBOX_LEASE: Duration = Duration::from_secs(60);
/// How many partitions a call works on at a time, unless it sets another number: 16.
pub const OUTBOX_PARALLELISM: usize = 16;
/// How many events of a partition a call removes in one transaction, unless it sets another number: 16.
pub const REMOVED_AT_ONCE: usize = 16;

#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub lease: Duration,
    pub parallelism: usize,
    /// A transaction of the store may have room for fewer.
    pub removed_at_once: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: OUTBOX_LEASE,
            parallelism: OUTBOX_PARALLELISM,
            removed_at_once: REMOVED_AT_ONCE,
        }
    }
}
