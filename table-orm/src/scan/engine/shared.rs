//! What the workers and the consumer of a scan share.

use super::expired_rows::Alive;
use super::page_rows::ReadRows;
use super::report::ScanReport;
use super::rules::Rules;
use super::state::ScanState;
use crate::entity::{OwnRows, SkipUnreadable};
use crate::store::Store;
use crate::sync::Random;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The rows that a scan reads.
#[derive(Debug)]
pub(in crate::scan) struct ScanSource {
    pub store: Arc<dyn Store>,
    /// For error messages.
    pub entity: &'static str,
    /// Which rows they are.
    pub own: OwnRows,
    pub alive: Alive,
}

impl ScanSource {
    /// The rows that a page of now is read into.
    pub fn own(&self) -> OwnRows {
        self.own.at(self.alive.now())
    }
}

/// What the workers and the consumer of a scan share.
pub(in crate::scan) struct Shared<T> {
    pub source: ScanSource,
    pub rules: Arc<Rules>,
    pub read: ReadRows<T>,
    /// Whether unreadable rows are left out.
    pub skip: Option<SkipUnreadable>,
    state: Mutex<ScanState<T>>,
    /// There may be work, or room for more.
    pub work: Notify,
    /// There may be a page, an error or the end.
    pub pages: Notify,
}

impl<T> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("source", &self.source).finish_non_exhaustive()
    }
}

impl<T> Shared<T> {
    pub fn new(
        source: ScanSource,
        rules: Rules,
        read: ReadRows<T>,
        skip: Option<SkipUnreadable>,
        random: Random,
    ) -> Self {
        let rules = Arc::new(rules);
        let state = Mutex::new(ScanState::new(Arc::clone(&rules), random));
        Self { source, rules, read, skip, state, work: Notify::new(), pages: Notify::new() }
    }

    pub fn lock(&self) -> MutexGuard<'_, ScanState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the scan has done so far.
    pub fn report(&self) -> ScanReport {
        self.lock().report()
    }

    pub(super) fn wake(&self) {
        self.work.notify_waiters();
        self.pages.notify_one();
    }

    /// Waits until `ready` finds something under the lock.
    pub(super) async fn wait<R>(&self, mut ready: impl FnMut(&mut ScanState<T>) -> Option<R>) -> R {
        loop {
            let mut change = std::pin::pin!(self.work.notified());
            change.as_mut().enable();
            if let Some(found) = ready(&mut self.lock()) {
                return found;
            }
            change.await;
        }
    }
}
