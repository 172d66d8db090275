//! How many requests a service handles well at once, learned from how long they take.
//!
//! The form is that of the gradient limits of Netflix's `concurrency-limits` (`GradientLimit` with its probes,
//! `Gradient2Limit` with its tolerance), which go back to TCP Vegas. While requests take about as long as in a
//! service at rest, the limit rises. Once they take longer, they only wait for each other in the service, and the
//! limit falls.
//!
//! - Requests are compared with like ones: of one operation, and of about one size. What such a request
//!   takes at rest is the mean of those that were sent while at most [`QUIET`] were in flight.
//! - A window has as many answers as the limit. After it, the limit becomes `limit * gradient + sqrt(limit)`, where
//!   `gradient = TOLERANCE * at_rest / now` is between 0.5 and 1, and `now` is the median of the window. So one
//!   slow partition among many does not slow the others down. The limit rises only if it is used.
//! - Requests that take more than [`SLOW`] are too many, whatever they take at rest: some of them would get
//!   no answer in time. The limit then falls in proportion, to 1 if need be.
//! - A failure (no answer, 408, 429 and 5xx) lowers the limit by a tenth, once a window. A request that was dropped
//!   counts as having taken the time until then.
//! - If nothing was sent at rest for [`PROBE_EVERY`], the limit falls to [`QUIET`] for [`PROBES`] answers:
//!   a service that has become slower is measured anew.
//!
//! A server that works on one request at a time is held at 4 to 7 of them: all of its speed, and
//! an answer after a few times what it takes for one.

use crate::query::QueryClass;
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// A service with at most this number of requests at once is at rest.
const QUIET: usize = 2;
/// How many times longer than at rest requests may take while the limit rises.
const TOLERANCE: f64 = 2.0;
/// A third of the time that the service itself allows a request (service documentation, "Query timeout and
/// pagination"), in seconds.
const SLOW: f64 = 10.0;
/// The limit after the first measurement.
const FIRST: f64 = 8.0;
/// The fewest answers of a window.
const LEAST_WINDOW: usize = 8;
/// What a failure leaves of the limit.
const AFTER_REJECTION: f64 = 0.9;
/// How long measurements at rest are believed, and how many make a new one.
const PROBE_EVERY: Duration = Duration::from_secs(30);
const PROBES: u32 = 5;
/// The weight of a new measurement is at least one in this number.
const REMEMBERED: u32 = 20;

/// Requests that take about as long as each other at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    pub(super) operation: &'static str,
    pub(super) class: Option<QueryClass>,
    /// The logarithm of its size: of entities written, or of KiB read.
    pub(super) size: u32,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Answered,
    /// The service did not take it, or did not answer.
    Rejected,
    /// Nobody waits for the answer any more.
    GivenUp,
}

/// The time of the requests of one kind, at rest.
#[derive(Debug)]
struct AtRest {
    seconds: f64,
    measured: u32,
}

/// The number of requests that may be in flight.
#[derive(Debug)]
pub(super) struct Gradient {
    most: f64,
    limit: f64,
    at_rest: HashMap<Kind, AtRest>,
    /// How many times longer than at rest each request took, and how many seconds.
    window: Vec<(f64, f64)>,
    /// The most in flight in the window, and whether one was rejected.
    busiest: usize,
    was_rejected: bool,
    /// The median of the last window.
    load: f64,
    /// How many measurements at rest are still to come before the limit is used.
    probes: u32,
    /// When the last measurement began, and how many there were since.
    probed: Instant,
    measured: u32,
}

impl Gradient {
    pub(super) fn new(most: usize, now: Instant) -> Self {
        let most = most as f64;
        Self {
            most,
            limit: FIRST.min(most),
            at_rest: HashMap::new(),
            window: Vec::new(),
            busiest: 0,
            was_rejected: false,
            load: 1.0,
            probes: PROBES,
            probed: now,
            measured: 0,
        }
    }

    /// How many requests may be in flight.
    pub(super) fn limit(&self) -> usize {
        let limit = self.limit as usize;
        if self.probes > 0 { limit.min(QUIET) } else { limit }
    }

    /// What the requests of each kind take at rest, in seconds.
    #[cfg(test)]
    pub(super) fn at_rest(&self) -> Vec<f64> {
        self.at_rest.values().map(|at_rest| at_rest.seconds).collect()
    }

    /// A request has ended that was sent while `inside` were in flight, itself included.
    pub(super) fn ended(
        &mut self,
        kind: Kind,
        inside: usize,
        time: Duration,
        ending: Ending,
        now: Instant,
    ) {
        if ending == Ending::Rejected {
            self.rejected();
        }
        if let Some(load) = self.load(kind, inside, time, ending)
            && self.probes == 0
        {
            self.window.push((load, time.as_secs_f64()));
            self.busiest = self.busiest.max(inside);
            if self.window.len() >= LEAST_WINDOW.max(self.limit()) {
                self.adjust();
            }
        }
        if now.saturating_duration_since(self.probed) >= PROBE_EVERY {
            if self.measured < PROBES && self.limit > QUIET as f64 {
                self.probes = PROBES;
                self.at_rest.values_mut().for_each(|at_rest| at_rest.measured = 0);
            }
            self.probed = now;
            self.measured = 0;
        }
    }

    fn rejected(&mut self) {
        // A probe that is rejected says no more.
        self.probes = self.probes.saturating_sub(1);
        if !std::mem::replace(&mut self.was_rejected, true) {
            self.limit = (self.limit * AFTER_REJECTION).max(1.0);
        }
    }

    /// How many times longer than at rest it took; `None` if it says nothing.
    fn load(&mut self, kind: Kind, inside: usize, time: Duration, ending: Ending) -> Option<f64> {
        let seconds = time.as_secs_f64().max(1e-6);
        if ending != Ending::Answered {
            // It took at least that long.
            let load = seconds / self.at_rest.get(&kind)?.seconds;
            return (load > TOLERANCE).then_some(load);
        }
        let load = self.load;
        let at_rest = self.at_rest.entry(kind).or_insert(AtRest {
            // A kind that is first met under load.
            seconds: if inside <= QUIET { seconds } else { seconds / load },
            measured: 0,
        });
        if inside <= QUIET {
            at_rest.measured = (at_rest.measured + 1).min(REMEMBERED);
            at_rest.seconds += (seconds - at_rest.seconds) / f64::from(at_rest.measured);
            self.measured += 1;
            self.probes = self.probes.saturating_sub(1);
        }
        Some(seconds / at_rest.seconds)
    }

    /// Ends a window.
    fn adjust(&mut self) {
        let middle = self.window.len() / 2;
        let by_load = |one: &(f64, f64), other: &(f64, f64)| one.0.total_cmp(&other.0);
        let (_, &mut (load, seconds), _) = self.window.select_nth_unstable_by(middle, by_load);
        self.load = load.max(1.0);
        let gradient = |gradient: f64| gradient.clamp(0.5, 1.0);
        let next = if seconds > SLOW {
            self.limit * gradient(SLOW / seconds)
        } else {
            self.limit.mul_add(gradient(TOLERANCE / self.load), self.limit.sqrt())
        };
        // As long as half of it suffices, more says nothing.
        if next < self.limit || 2 * self.busiest >= self.limit() {
            self.limit = next.clamp(1.0, self.most);
        }
        self.window.clear();
        self.busiest = 0;
        self.was_rejected = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { operation: "get", class: None, size: 0 };

    /// A service under full load for a time: how long a request takes, by how many are in flight.
    struct Service {
        gradient: Gradient,
        now: Instant,
        /// The limits after each second.
        limits: Vec<usize>,
    }

    impl Service {
        fn new() -> Self {
            let now = Instant::now();
            Self { gradient: Gradient::new(64, now), now, limits: Vec::new() }
        }

        fn run(&mut self, seconds: u64, takes: impl Fn(f64) -> f64) -> usize {
            let end = self.now + Duration::from_secs(seconds);
            let mut second = self.now;
            while self.now < end {
                let inside = self.gradient.limit();
                let time = Duration::from_secs_f64(takes(inside as f64));
                // As many as are inside end in that time.
                self.now += time / u32::try_from(inside).unwrap();
                self.gradient.ended(KIND, inside, time, Ending::Answered, self.now);
                if self.now >= second {
                    self.limits.push(self.gradient.limit());
                    second += Duration::from_secs(1);
                }
            }
            *self.limits.last().unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_is_fast_for_all_gets_as_many_as_it_may() {
        let mut service = Service::new();
        assert_eq!(service.run(5, |_| 0.015), 64);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_of_one_request_at_a_time_is_held_at_a_few() {
        for each in [0.002, 0.05, 1.0, 4.0] {
            let mut service = Service::new();
            service.run(600, |inside| each * inside);
            let held = &service.limits[service.limits.len() / 2..];
            assert!(held.iter().all(|limit| (1..=9).contains(limit)), "{each}: {held:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_of_a_very_slow_server_waits_for_longer_than_the_service_allows() {
        for each in [5.0, 10.0, 14.0] {
            let mut service = Service::new();
            service.run(7200, |inside| each * inside);
            let held = &service.limits[service.limits.len() / 2..];
            assert!(held.iter().all(|limit| *limit as f64 * each < 30.0), "{each}: {held:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_service_that_becomes_slower_is_measured_anew() {
        let mut service = Service::new();
        service.run(20, |inside| 0.01 * (inside / 32.0).max(1.0));
        let slower = service.run(200, |inside| 0.05 * (inside / 32.0).max(1.0));
        assert!(slower >= 32, "{:?}", service.limits);
    }

    #[tokio::test(start_paused = true)]
    async fn rejections_lower_the_limit_and_answers_raise_it_again() {
        let mut service = Service::new();
        service.run(5, |_| 0.015);
        for _ in 0..20 {
            let (gradient, now) = (&mut service.gradient, service.now);
            gradient.ended(KIND, 64, Duration::from_millis(1), Ending::Rejected, now);
        }
        assert_eq!(service.gradient.limit(), 57, "once a window");
        assert_eq!(service.run(5, |_| 0.015), 64);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_are_given_up_late_lower_it_and_soon_do_not() {
        let mut service = Service::new();
        service.run(5, |_| 0.015);
        for (milliseconds, expected) in [(20, 64..=64), (30_000, 1..=16)] {
            for _ in 0..400 {
                let (gradient, now) = (&mut service.gradient, service.now);
                let time = Duration::from_millis(milliseconds);
                gradient.ended(KIND, 64, time, Ending::GivenUp, now);
            }
            assert!(expected.contains(&service.gradient.limit()), "{}", service.gradient.limit());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_partition_among_many_slows_no_other() {
        let mut service = Service::new();
        service.run(5, |_| 0.015);
        for n in 0..10_000_u32 {
            let time = Duration::from_millis(if n % 4 == 0 { 3_000 } else { 15 });
            service.now += Duration::from_millis(1);
            service.gradient.ended(KIND, 64, time, Ending::Answered, service.now);
        }
        assert_eq!(service.gradient.limit(), 64);
    }

    #[tokio::test(start_paused = true)]
    async fn large_requests_are_not_taken_for_slow_ones() {
        let mut service = Service::new();
        service.run(5, |_| 0.015);
        let large = Kind { size: 7, ..KIND };
        for _ in 0..1000 {
            service.now += Duration::from_millis(1);
            let time = Duration::from_millis(400);
            service.gradient.ended(large, 64, time, Ending::Answered, service.now);
        }
        assert_eq!(service.gradient.limit(), 64);
    }
}
