//! Lines about requests that failed.
//!
//! Invariant: however many requests fail, there are at most [`MOST_LINES`] lines about them in each
//! [`PERIOD`], and one with the number of the others.

use crate::printable::printable;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use table_server::FailedRequest;
use tokio::time::{Instant, sleep_until};

/// The most lines about single requests in a period.
const MOST_LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);
/// The most characters of a path, and of a message: a path may have 64 KiB.
const MOST_CHARACTERS: usize = 300;

/// Prints a line for each request that failed, unless a fault was injected into it.
#[derive(Clone)]
pub(super) struct FailureLog(Arc<Shared>);

struct Shared {
    print: Box<dyn Fn(&str) + Send + Sync>,
    period: Mutex<Period>,
}

/// What was printed lately.
#[derive(Debug, Default)]
struct Period {
    /// `None` before the first failure.
    end: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl FailureLog {
    pub(super) fn new(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { print: Box::new(print), period: Mutex::default() }))
    }

    /// Prints a line about the request, or counts it. Called on a tokio runtime.
    pub(super) fn add(&self, failed: &FailedRequest<'_>) {
        if failed.error.injected {
            return;
        }
        let now = Instant::now();
        let mut period = self.period();
        let end = match period.end {
            Some(end) if now < end => end,
            _ => {
                period.lines = 0;
                *period.end.insert(now + PERIOD)
            }
        };
        if period.lines < MOST_LINES {
            period.lines += 1;
            drop(period);
            (self.0.print)(&line(failed));
            return;
        }
        period.left_out += 1;
        if period.left_out == 1 {
            let log = self.clone();
            tokio::spawn(async move {
                sleep_until(end).await;
                log.end();
            });
        }
    }

    /// Says how many failures had no line.
    pub(super) fn end(&self) {
        let left_out = std::mem::take(&mut self.period().left_out);
        if left_out > 0 {
            let requests = if left_out == 1 { "request" } else { "requests" };
            (self.0.print)(&format!("{left_out} more {requests} failed"));
        }
    }

    fn period(&self) -> MutexGuard<'_, Period> {
        self.0.period.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for FailureLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FailureLog").field(&self.period()).finish()
    }
}

fn line(failed: &FailedRequest<'_>) -> String {
    let FailedRequest { method, path, error, .. } = failed;
    let answer = match error.is_lost() {
        true => "no answer".to_owned(),
        false => error.status.to_string(),
    };
    let part = |text: &str| text.chars().take(MOST_CHARACTERS).collect::<String>();
    let (path, message) = (part(path), part(&error.message));
    printable(&format!("{method} {path}: {answer} {}: {message}", error.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use table_server::{FailedRequest, ServiceError};
    use tokio::time::sleep;

    type Lines = Arc<Mutex<Vec<String>>>;

    fn log() -> (FailureLog, Lines) {
        let lines = Lines::default();
        let sink = Arc::clone(&lines);
        (FailureLog::new(move |line| sink.lock().unwrap().push(line.to_owned())), lines)
    }

    fn add(log: &FailureLog, error: &ServiceError) {
        log.add(&FailedRequest { method: &hyper::Method::GET, path: "/a/people()", error });
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_of_failures_is_ten_lines_and_their_number() {
        let (log, lines) = log();
        let printed = || std::mem::take(&mut *lines.lock().unwrap());
        for _ in 0..1000 {
            add(&log, &ServiceError::NOT_IMPLEMENTED);
        }
        assert_eq!(printed().len(), 10);
        sleep(PERIOD + Duration::from_millis(1)).await;
        assert_eq!(printed(), ["990 more requests failed"]);
        for _ in 0..11 {
            add(&log, &ServiceError::NOT_IMPLEMENTED);
        }
        assert_eq!(printed().len(), 10, "a new period");
        log.end();
        assert_eq!(printed(), ["1 more request failed"], "the end does not wait");
        sleep(PERIOD * 2).await;
        assert_eq!(printed(), [""; 0]);
    }

    #[tokio::test]
    async fn a_line_has_an_end() {
        let (log, lines) = log();
        let long = "x".repeat(64 * 1024);
        let error = &ServiceError::NOT_IMPLEMENTED.because(long.clone());
        log.add(&FailedRequest { method: &hyper::Method::GET, path: &long, error });
        let length = lines.lock().unwrap()[0].len();
        assert!((600..700).contains(&length), "{length}");
    }

    #[tokio::test]
    async fn a_line_says_what_failed_and_hostile_text_stays_in_it() {
        let (log, lines) = log();
        let full = ServiceError { status: 507, ..ServiceError::invalid("full\u{1b}[2J\nsecond") };
        add(&log, &full);
        add(&log, &ServiceError { status: 0, ..full.clone() });
        add(&log, &ServiceError { injected: true, ..full });
        assert_eq!(
            *lines.lock().unwrap(),
            [
                "GET /a/people(): 507 InvalidInput: full\\u{1b}[2J\\nsecond",
                "GET /a/people(): no answer InvalidInput: full\\u{1b}[2J\\nsecond",
            ]
        );
    }
}
