//! How long the service asks a client to wait.

use super::http_date;
use std::time::{Duration, SystemTime};

/// The longest wait that an answer can ask for. Maintenance pages and misconfigured gateways ask
/// for days or centuries.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// What the headers of an answer say: `Retry-After` in seconds or as a date, and two headers in milliseconds, which
/// count before it.
#[derive(Debug, Default)]
pub(super) struct RetryAfter {
    wait: Option<Duration>,
    at: Option<SystemTime>,
}

impl RetryAfter {
    /// Takes a header, if it is one of these. The case of its name does not matter.
    pub fn take_header(&mut self, name: &str, value: &str) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("retry-after") {
            let seconds = value.trim().parse().ok().map(Duration::from_secs);
            self.wait = self.wait.or(seconds);
            self.at = http_date::parse(value);
        } else if is("x-ms-retry-after-ms") || is("retry-after-ms") {
            let millis = value.trim().parse().ok().map(Duration::from_millis);
            self.wait = millis.or(self.wait);
        }
    }

    /// The wait. `now` is the date of the answer: like the date to wait for, it is of the service's clock.
    pub fn wait(&self, now: Option<SystemTime>) -> Option<Duration> {
        let until = self.at.zip(now).map(|(at, now)| at.duration_since(now).unwrap_or_default());
        self.wait.or(until).map(|wait| wait.min(MAX_RETRY_AFTER))
    }
}
