//! When a call settles what it wrote.
//!
//! Invariant: a background task holds one of the connection's permits for background tasks.

use super::eventual_type::EventualType;
use super::pending::Pending;
use super::settle::{settle, settle_together};
use super::settled::Settled;
use crate::plan::TableClient;
use crate::sync::Backoff;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

/// The waits between the attempts in the background. After the longest one, the intent is left to a sweep.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const MAX_WAITS: u32 = 7;

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
