//! Whether the rows in other partitions are in step with what a call wrote.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the rows in other partitions are in step with what a call wrote: in the answer of a call that reports
/// it ([`Written`](super::Written)). Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Settled(Arc<AtomicBool>);

impl Settled {
    /// Returns whether every query of the rows in other partitions, by any client, sees what the call wrote or
    /// something newer. Returns `true` too if the call changed no such row, and `false` while the rows still
    /// have to follow.
    ///
    /// It becomes `true` only if this process settles the rows. It does not ask whether another process did. If
    /// this process gives up after 2 minutes, it stays `false`.
    #[must_use]
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Says that they are.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}
