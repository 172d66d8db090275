//! When a call settles what it wrote, and how it reports that.
//!
//! Invariant: a background task holds one of the connection's permits for background tasks.

use super::eventual_type::EventualType;
use super::pending::Pending;
use super::settle::{settle, settle_together};
use crate::plan::TableClient;
use crate::sync::Backoff;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

/// The waits between the attempts in the background. After the longest one, the intent is left to a sweep.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const MAX_WAITS: u32 = 7;

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

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The methods of a call that writes entities.
macro_rules! settling_methods {
    () => {
        $crate::eventual::settling_methods!(settling);
    };
    ($($settling:tt)+) => {
        /// Returns as soon as the entity is written. In the background, it brings the entity's rows in other
        /// partitions in step, and frees the values that the entity gave up. Without it, the call returns
        /// after that.
        ///
        /// A type without `eventual` rows, sums over partitions and `unique(.., across)` has nothing to settle.
        /// At most 64 calls of one [`Tables`](crate::Tables) and its clones settle in the background at a time:
        /// one more settles before it returns, and so does a call outside a tokio runtime.
        pub fn settle_later(mut self) -> Self {
            self.$($settling)+.later = true;
            self
        }

        /// Makes the tickets for the entity's rows in other partitions before it writes the entity, not after.
        /// The call then need not read the entity afterwards: it takes 2 requests for each such partition and
        /// 2 others, instead of 3 others.
        ///
        /// The entity itself is written one round trip later. A write that is rejected, such as one of an entity
        /// that has changed, takes 2 requests for each partition in vain: one that reserves, and one that gives
        /// back. So it pays where writes rarely conflict. It has no effect on a write that changes a sum over
        /// partitions: the copy of the total is known only after the write.
        pub fn tickets_first(mut self) -> Self {
            self.$($settling)+.tickets_first = true;
            self
        }

        /// Adds to the answer whether the rows in other partitions are in step with what the call wrote
        /// ([`Written`]($crate::eventual::Written)). Set it last, because it returns another call.
        ///
        /// A call that wrote the entity succeeds, even if a row in another partition cannot be written:
        /// `settled` is `false` then. Where a partition does not answer, the call tries for about 5 s before it
        /// returns. The process tries again for 2 minutes, and [`Repo::settle`](crate::Repo::settle) settles what is
        /// left. With [`settle_later`](Self::settle_later) it is `false` at first.
        pub fn report_settled(mut self) -> $crate::eventual::ReportSettled<Self> {
            let settled = $crate::eventual::Settled::default();
            self.$($settling)+.report = Some(settled.clone());
            $crate::eventual::ReportSettled::new(self, settled)
        }
    };
}
pub(crate) use settling_methods;

/// When a call settles, and to whom it reports that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settling {
    /// Whether the call returns before.
    pub later: bool,
    pub report: Option<Settled>,
    /// Whether tickets are made before the entity is written.
    pub tickets_first: bool,
    /// Where a transaction of a bulk write lays what is settled together with that of others.
    pub aside: Option<Aside>,
}

/// Intents of one type and one partition, which are settled together.
pub(crate) type Group = (EventualType, Vec<Pending>);

/// Intents that somebody else will settle. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aside(Arc<Mutex<Vec<Group>>>);

impl Aside {
    /// Takes what was laid there.
    pub fn take(&self) -> Vec<Group> {
        mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Group>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Settling {
    /// Settles intents, and returns after the first attempt, or at once with `later`. What fails is tried
    /// again in the background.
    pub async fn settle(&self, client: &TableClient, mut groups: Vec<Group>) {
        if groups.is_empty() {
            return self.done();
        }
        if let Some(aside) = &self.aside {
            return aside.lock().extend(groups);
        }
        let (settling, client) = (self.clone(), client.clone());
        let Ok(runtime) = Handle::try_current() else {
            Box::pin(settle_all(&client, &mut groups)).await;
            return settling.done_if(&groups);
        };
        let permit = if self.later { background(&client) } else { None };
        let waits = permit.is_none();
        // A task of its own goes on when the call is dropped.
        let attempt = runtime.spawn(async move {
            let is_transient = settle_all(&client, &mut groups).await;
            settling.done_if(&groups);
            if is_transient && let Some(permit) = permit.or_else(|| background(&client)) {
                let again = async move { settling.settle_again(&client, groups, permit).await };
                tokio::spawn(again);
            }
        });
        if waits {
            let _ended = attempt.await;
        }
    }

    /// Settles what a bulk write had gathered when it was dropped.
    pub(super) fn settle_dropped(&self, client: &TableClient, mut groups: Vec<Group>) {
        if groups.is_empty() {
            return;
        }
        // Without a runtime or room, the intents are left to a sweep.
        if let (Ok(runtime), Some(permit)) = (Handle::try_current(), background(client)) {
            let (settling, client) = (self.clone(), client.clone());
            runtime.spawn(async move {
                if settle_all(&client, &mut groups).await {
                    settling.settle_again(&client, groups, permit).await;
                }
            });
        }
    }

    /// Tries again what failed. The permit is given back at the end.
    async fn settle_again(
        &self,
        client: &TableClient,
        mut groups: Vec<Group>,
        _permit: OwnedSemaphorePermit,
    ) {
        let connection = &client.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let mut is_transient = true;
        while is_transient && backoff.waits() < MAX_WAITS {
            connection.timer.sleep(backoff.next(&connection.random)).await;
            is_transient = settle_all(client, &mut groups).await;
        }
        self.done_if(&groups);
    }

    fn done_if(&self, groups: &[Group]) {
        if groups.is_empty() {
            self.done();
        }
    }

    /// Reports that nothing has to follow.
    pub fn done(&self) {
        if let Some(report) = &self.report {
            report.set();
        }
    }
}

/// The right to settle in the background, while there is room.
fn background(client: &TableClient) -> Option<OwnedSemaphorePermit> {
    Arc::clone(&client.connection.background).try_acquire_owned().ok()
}

/// Settles groups, and removes those that are settled. Returns whether another attempt may settle more.
async fn settle_all(client: &TableClient, groups: &mut Vec<Group>) -> bool {
    let mut is_transient = false;
    let mut left = Vec::new();
    for (kind, pending) in groups.drain(..) {
        let settled = match &*pending {
            [one] => settle(client, kind, one).await,
            several => settle_together(client, kind, several).await,
        };
        let Err(error) = settled else {
            pending.iter().for_each(Pending::end);
            continue;
        };
        if !error.is_of_one() || pending.len() == 1 {
            is_transient |= error.is_transient();
            left.push((kind, pending));
            continue;
        }
        // One that cannot be settled holds up no other.
        for one in pending {
            match settle(client, kind, &one).await {
                Ok(()) => one.end(),
                Err(error) => {
                    is_transient |= error.is_transient();
                    left.push((kind, vec![one]));
                }
            }
        }
    }
    *groups = left;
    is_transient
}
