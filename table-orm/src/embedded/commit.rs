//! Group commit: concurrent writers share one durable transaction.
//!
//! Invariant: there is at most one leader, and there is one while requests wait. A writer that
//! finds no leader becomes it. The leader applies all waiting requests as one group, until no more
//! requests wait. The leader owns the requests, not the writers' futures, so a dropped future loses
//! only its answer.

use super::apply::{Change, ChangeResult};
use super::engine::EngineError;
use super::{Inner, open};
use crate::store::{ErrorCode, StoreError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// A request and the channel of its answer.
#[derive(Debug)]
struct Submission {
    request: Change,
    answer: oneshot::Sender<ChangeResult>,
}

/// Requests that are applied together.
type Group = Vec<Submission>;

/// The requests that wait for the leader.
#[derive(Debug, Default)]
pub(crate) struct CommitQueue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    group: Group,
    led: bool,
}

impl CommitQueue {
    /// Locks, even after a panic: between statements the requests are consistent.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request. Returns the group to lead when there is no leader.
    fn join(&self, submission: Submission) -> Option<Group> {
        let mut waiting = self.lock();
        waiting.group.push(submission);
        if waiting.led {
            return None;
        }
        waiting.led = true;
        Some(std::mem::take(&mut waiting.group))
    }

    #[cfg(test)]
    pub(crate) fn is_led(&self) -> bool {
        self.lock().led
    }

    /// Returns the leader's next group. Ends its leadership when no request waits.
    fn next(&self) -> Option<Group> {
        let mut waiting = self.lock();
        if waiting.group.is_empty() {
            waiting.led = false;
            return None;
        }
        Some(std::mem::take(&mut waiting.group))
    }
}

/// Applies one request, in a group with the requests that other tasks submit at the same time.
pub(crate) async fn submit(inner: &Arc<Inner>, request: Change) -> ChangeResult {
    inner.engine.check_writable()?;
    let (sender, answer) = oneshot::channel();
    if let Some(group) = inner.queue.join(Submission { request, answer: sender }) {
        let leader = Leader { inner: Arc::clone(inner), group, resigned: false };
        if inner.in_memory() || inner.engine.is_quick() {
            // Nothing waits for the disk, but for the pages of a file that are in no cache, so the first round runs
            // on this task. Later rounds do not, or a busy store would never return to the caller. After a panic, the
            // answer below is an error.
            if let Ok(Some(leader)) = catch_unwind(AssertUnwindSafe(|| leader.round())) {
                leader.lead_next();
            }
        } else {
            leader.lead_next();
        }
    }
    answer.await.unwrap_or_else(|closed| {
        let message = "A panic or the runtime's shutdown ended the write; read the rows to see \
                       whether it took effect.";
        Err(StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(closed))
    })
}

/// The writer that applies requests, with its next group.
struct Leader {
    inner: Arc<Inner>,
    group: Group,
    resigned: bool,
}

impl Leader {
    /// Leads on a thread that may block.
    fn lead_next(self) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(move || self.lead())),
            Err(_) => self.lead(),
        }
    }

    fn lead(self) {
        let mut leader = Some(self);
        while let Some(current) = leader {
            leader = current.round();
        }
    }

    /// Applies the group and answers it. Returns the leader when more requests wait.
    fn round(mut self) -> Option<Self> {
        let result = self.apply();
        let outcome = GroupOutcome { group: std::mem::take(&mut self.group), result };
        let leader = match self.inner.queue.next() {
            Some(group) => {
                self.group = group;
                Some(self)
            }
            None => {
                // A caller that has its answer may drop the store and open the file again, so this
                // reference to the store is dropped first.
                self.resigned = true;
                drop(self);
                None
            }
        };
        outcome.send();
        leader
    }

    fn apply(&self) -> Result<Vec<ChangeResult>, EngineError> {
        self.inner.engine.apply(self.group.iter().map(|submission| &submission.request))
    }
}

/// Ends the leadership when the leader panics or a runtime drops it at shutdown: waiting writers
/// get an error, and others can write.
impl Drop for Leader {
    fn drop(&mut self) {
        if !self.resigned {
            let mut waiting = self.inner.queue.lock();
            waiting.led = false;
            waiting.group.clear();
        }
    }
}

/// The result of a group.
struct GroupOutcome {
    group: Group,
    result: Result<Vec<ChangeResult>, EngineError>,
}

impl GroupOutcome {
    fn send(self) {
        // A writer that no longer listens does not need its answer.
        match self.result {
            Ok(answers) => {
                for (submission, answer) in self.group.into_iter().zip(answers) {
                    drop(submission.answer.send(answer));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for submission in self.group {
                    drop(submission.answer.send(Err(failed(Arc::clone(&error)))));
                }
            }
        }
    }
}

fn failed(error: Arc<EngineError>) -> StoreError {
    let message = match &*error {
        EngineError::Io(error) if open::is_full(error) => {
            "The disk is full, so the database could not commit: free some space, then read the \
             rows to see whether the request took effect."
                .to_owned()
        }
        EngineError::Io(_) | EngineError::Database(_) => {
            "The database could not commit: check the disk, then read the rows to see whether the \
             request took effect."
                .to_owned()
        }
        EngineError::Closed(error) => format!(
            "Nothing was applied: the database has been closed since its disk failed ({error})."
        ),
        EngineError::Lost => {
            "The disk failed before answered writes were synced, so those of the last second \
             may be lost. Nothing of this request was applied: check the disk, then read the rows."
                .to_owned()
        }
    };
    // No request reaches a closed database, so it is certain that nothing was applied.
    let (status, code) = match &*error {
        EngineError::Io(_) | EngineError::Database(_) => (500, ErrorCode::INTERNAL_ERROR),
        // A status that is not retried, so that the app gets to see it.
        EngineError::Lost => (507, ErrorCode::ANSWERED_WRITES_LOST),
        EngineError::Closed(_) => (0, ErrorCode::CONNECTION_FAILED),
    };
    StoreError { status, ..StoreError::new(code, message).caused_by(error) }
}
