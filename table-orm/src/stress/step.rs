//! Calls at one rate for one length of time.
//!
//! Invariant: call `n` starts `n / rate` after the first, or as soon after as fewer calls than the bound
//! are in flight; its latency counts from the moment at which it was due, sent or not.

use super::calls::{Call, MakeCall};
use crate::error::Error;
use crate::figures::{Percentiles, Sketch};
use futures_util::future::{BoxFuture, Shared};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long answers are waited for after the last call.
pub(super) const LAST_ANSWERS: Duration = Duration::from_secs(60);

/// Completes when the test shall stop.
pub(super) type Stop = Shared<BoxFuture<'static, ()>>;

/// Sends calls.
pub(super) struct Driver {
    pub make: MakeCall,
    pub partitions: u32,
    pub in_flight: usize,
    pub stop: Stop,
    /// The number of the next call.
    pub next: u64,
}

/// What became of the calls of a step.
#[derive(Debug)]
pub(super) struct Driven {
    pub sent: u64,
    /// Those that ended with an error, or without an end.
    pub failed: u64,
    /// Those of them without an end.
    pub unanswered: u64,
    /// The first error.
    pub first_error: Option<String>,
    /// Calls that were due and not sent, because too many others were in flight.
    pub unsent: u64,
    /// Until the last answer.
    pub time: Duration,
    pub latency_us: Percentiles,
    pub is_stopped: bool,
}

impl Driver {
    /// Makes calls at that rate, calls a second, for that time, and waits for their answers.
    pub async fn drive(&mut self, rate: f64, time: Duration) -> Driven {
        let start = Instant::now();
        let due = |call: u64| start + Duration::from_secs_f64(call as f64 / rate);
        let planned = (rate * time.as_secs_f64()).ceil() as u64;
        let end = start + time;
        let mut calls = JoinSet::new();
        let mut answers = Answers { micros: Sketch::new(), failed: 0, first_error: None };
        let (mut sent, mut is_stopped) = (0, false);
        while sent < planned {
            while let Some(answer) = calls.try_join_next() {
                answers.add(answer.ok());
            }
            let now = Instant::now();
            while sent < planned && calls.len() < self.in_flight && due(sent) <= now {
                self.start(&mut calls, due(sent));
                sent += 1;
            }
            let is_full = calls.len() >= self.in_flight;
            if sent == planned || (is_full && now >= end) {
                break;
            }
            let next = if is_full { end } else { due(sent) };
            tokio::select! {
                () = sleep_until(next) => {}
                Some(answer) = calls.join_next() => answers.add(answer.ok()),
                () = self.stop.clone() => { is_stopped = true; break }
            }
        }
        let last_answers = Instant::now() + LAST_ANSWERS;
        while !calls.is_empty() {
            tokio::select! {
                Some(answer) = calls.join_next() => answers.add(answer.ok()),
                () = sleep_until(last_answers) => break,
                () = self.stop.clone(), if !is_stopped => is_stopped = true,
            }
        }
        // Those without an answer have taken at least so long.
        let ended = Instant::now();
        let unanswered = calls.len() as u64;
        for _ in 0..unanswered {
            answers.took(LAST_ANSWERS);
        }
        let unsent = if is_stopped { 0 } else { planned - sent };
        for call in sent..sent + unsent {
            answers.took(ended.saturating_duration_since(due(call)));
        }
        Driven {
            sent,
            failed: answers.failed + unanswered,
            unanswered,
            first_error: answers.first_error,
            unsent,
            time: ended - start,
            latency_us: answers.micros.percentiles(),
            is_stopped,
        }
    }

    /// Makes one call. Returns whether it succeeded.
    pub async fn is_answered(&mut self) -> bool {
        self.call().await.is_ok()
    }

    fn call(&mut self) -> BoxFuture<'static, Result<(), Error>> {
        let number = self.next;
        self.next += 1;
        let partition = (number % u64::from(self.partitions.max(1))) as u32;
        (self.make)(Call { number, partition })
    }

    fn start(&mut self, calls: &mut JoinSet<Answer>, due: Instant) {
        let call = self.call();
        calls.spawn(async move {
            let error = call.await.err().map(|error| error.to_string());
            Answer { latency: due.elapsed(), error }
        });
    }
}

struct Answer {
    latency: Duration,
    error: Option<String>,
}

struct Answers {
    micros: Sketch,
    failed: u64,
    first_error: Option<String>,
}

impl Answers {
    /// Adds an answer; `None` is a call that panicked.
    fn add(&mut self, answer: Option<Answer>) {
        let panicked = || Answer { latency: Duration::ZERO, error: Some("a panic".to_owned()) };
        let Answer { latency, error } = answer.unwrap_or_else(panicked);
        self.failed += u64::from(error.is_some());
        self.first_error = self.first_error.take().or(error);
        self.took(latency);
    }

    fn took(&mut self, latency: Duration) {
        self.micros.add(latency.as_micros().try_into().unwrap_or(u64::MAX));
    }
}
