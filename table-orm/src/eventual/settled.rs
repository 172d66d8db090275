//! When a call settles what it wrote, and how it reports that.

use super::foreign_type::ForeignType;
use super::intent::Pending;
use super::settle::settle;
use crate::plan::{Cover, TableClient};
use crate::sync::Backoff;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// The waits between the attempts in the background. After the longest one, the intent is left to a sweep.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const MAX_WAITS: u32 = 7;

/// Whether the rows in other partitions are in step with what a call wrote.
///
/// A call that is given it with `report_settled` sets it. Clones are the same.
///
/// ```
/// use table_orm::eventual::Settled;
/// use table_orm::{TableEntity, Tables};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "members", partition = "{user}", row = "ROOM:{room}")]
/// #[row(by_room, partition = "{room}", key = "USER:{user}", eventual)]
/// struct Member { user: String, room: String }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let members = Tables::in_memory()?.repo::<Member>();
/// members.create_table().await?;
/// let settled = Settled::default();
/// let ann = Member { user: "ann".into(), room: "kitchen".into() };
/// members.insert(&ann).report_settled(&settled).await?;
/// assert!(settled.get());
/// assert_eq!(members.list(Member::by_room("kitchen")).one().await?, ann);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Settled(Arc<AtomicBool>);

impl Settled {
    /// Whether every query of the rows in other partitions, by any client, sees what the call wrote or
    /// something newer. `true` too where the call changed no such row. `false` before the call ends, when it
    /// fails, and while the rows still have to follow.
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
        /// A type without `eventual` rows and without `unique(.., across)` has nothing to settle. Outside a
        /// tokio runtime, the call settles before it returns.
        pub fn settle_later(mut self) -> Self {
            self.$($settling)+.later = true;
            self
        }

        /// Sets `settled` when the rows in other partitions are in step with what the call wrote: before the
        /// call returns, or with [`settle_later`](Self::settle_later) after it.
        ///
        /// A call that wrote the entity succeeds, even if a row in another partition cannot be written.
        /// `settled` stays unset then. The process tries again for 2 minutes;
        /// [`Repo::settle`](crate::Repo::settle) settles what is left.
        pub fn report_settled(mut self, settled: &$crate::eventual::Settled) -> Self {
            self.$($settling)+.report = Some(settled.clone());
            self
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
}

impl Settling {
    /// Settles intents, and returns after the first attempt, or at once with `later`. What fails is tried
    /// again in the background.
    ///
    /// What names the partition in a register ends when nothing is left to settle, and otherwise is dropped.
    pub async fn settle(
        &self,
        client: &TableClient,
        mut pending: Vec<(ForeignType, Pending)>,
        covers: Vec<Arc<Cover>>,
    ) {
        if pending.is_empty() {
            return self.done(&covers);
        }
        let (settling, client) = (self.clone(), client.clone());
        let Ok(runtime) = Handle::try_current() else {
            settle_all(&client, &mut pending).await;
            return settling.done_if(&pending, &covers);
        };
        // A task of its own goes on when the call is dropped.
        let attempt = runtime.spawn(async move {
            let is_transient = settle_all(&client, &mut pending).await;
            settling.done_if(&pending, &covers);
            if is_transient {
                tokio::spawn(async move { settling.settle_again(&client, pending, &covers).await });
            }
        });
        if !self.later {
            let _ended = attempt.await;
        }
    }

    async fn settle_again(
        &self,
        client: &TableClient,
        mut pending: Vec<(ForeignType, Pending)>,
        covers: &[Arc<Cover>],
    ) {
        let connection = &client.connection;
        let mut backoff = Backoff::new(FIRST_WAIT, LONGEST_WAIT);
        let mut is_transient = true;
        while is_transient && backoff.waits() < MAX_WAITS {
            connection.timer.sleep(backoff.next(&connection.random)).await;
            is_transient = settle_all(client, &mut pending).await;
        }
        self.done_if(&pending, covers);
    }

    fn done_if(&self, pending: &[(ForeignType, Pending)], covers: &[Arc<Cover>]) {
        if pending.is_empty() {
            self.done(covers);
        }
    }

    /// Reports that nothing has to follow.
    pub fn done(&self, covers: &[Arc<Cover>]) {
        covers.iter().for_each(|cover| cover.end());
        if let Some(report) = &self.report {
            report.set();
        }
    }
}

/// Settles intents, and removes those that are settled. Returns whether another attempt may settle more.
async fn settle_all(client: &TableClient, pending: &mut Vec<(ForeignType, Pending)>) -> bool {
    let mut is_transient = false;
    let mut left = Vec::new();
    for (kind, intent) in pending.drain(..) {
        if let Err(error) = settle(client, kind, &intent).await {
            is_transient |= error.is_transient();
            left.push((kind, intent));
        }
    }
    *pending = left;
    is_transient
}
