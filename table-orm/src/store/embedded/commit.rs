//! Group commit: concurrent writers share one durable transaction.
//!
//! Invariant: at most one leader at a time, and while requests wait there is one. A writer that
//! finds no leader becomes it; the leader carries out all requests that wait as one group, and
//! goes on until none waits. Requests belong to the leader, not to the writers' futures, so a
//! dropped future loses nothing but its answer.

use super::Inner;
use super::apply::{Answer, Request};
use crate::store::{ErrorCode, StoreError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// A request and where its answer goes.
#[derive(Debug)]
struct Submission {
    request: Request,
    answer: oneshot::Sender<Answer>,
}

/// Requests that are carried out together.
type Group = Vec<Submission>;

/// The requests that wait for the leader.
#[derive(Debug, Default)]
pub(super) struct Queue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    group: Group,
    led: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.0)
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

    /// The leader's next group; leadership ends when nothing waits.
    fn next(&self) -> Option<Group> {
        let mut waiting = self.lock();
        if waiting.group.is_empty() {
            waiting.led = false;
            return None;
        }
        Some(std::mem::take(&mut waiting.group))
    }
}

/// Locks, also after a panic: what these locks guard is consistent between statements.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Carries out one request, in a group with those that other tasks submit meanwhile.
pub(super) async fn submit(inner: &Arc<Inner>, request: Request) -> Answer {
    let (sender, answer) = oneshot::channel();
    if let Some(group) = inner.queue.join(Submission { request, answer: sender }) {
        if inner.in_memory() {
            // Nothing blocks, so the first round stays on this task; what came in meanwhile does
            // not, or a busy store would never give the task back.
            let (outcome, next) = round(inner, group);
            outcome.send();
            if let Some(group) = next {
                lead_elsewhere(inner, group);
            }
        } else {
            lead_elsewhere(inner, group);
        }
    }
    answer.await.unwrap_or_else(|closed| {
        let message = "The write was abandoned by a panic; whether it took effect is not known.";
        Err(StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(closed))
    })
}

fn lead_elsewhere(inner: &Arc<Inner>, group: Group) {
    let inner = Arc::clone(inner);
    match Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(move || lead(inner, group))),
        Err(_) => lead(inner, group),
    }
}

fn lead(inner: Arc<Inner>, mut group: Group) {
    loop {
        let (outcome, next) = round(&inner, group);
        match next {
            Some(next) => {
                outcome.send();
                group = next;
            }
            None => {
                // The answer may move its reader to drop the store and open the file again, so
                // this hold on it goes first.
                drop(inner);
                outcome.send();
                return;
            }
        }
    }
}

/// Carries out a group and takes the next; the answers are still to be sent.
fn round(inner: &Inner, group: Group) -> (Outcome, Option<Group>) {
    let leadership = Leadership(&inner.queue);
    let requests = group.iter().map(|submission| &submission.request);
    let result = lock(&inner.writer).apply(&inner.database, requests);
    std::mem::forget(leadership);
    (Outcome { group, result }, inner.queue.next())
}

/// What became of a group.
struct Outcome {
    group: Group,
    result: Result<Vec<Answer>, redb::Error>,
}

impl Outcome {
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

fn failed(error: Arc<redb::Error>) -> StoreError {
    let message = "The database could not commit; nothing of the request was applied.";
    StoreError::new(ErrorCode::INTERNAL_ERROR, message).caused_by(error)
}

/// Gives leadership up when the leader panics: those who wait are told, and others can write.
struct Leadership<'a>(&'a Queue);

impl Drop for Leadership<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.lock();
        waiting.led = false;
        waiting.group.clear();
    }
}
