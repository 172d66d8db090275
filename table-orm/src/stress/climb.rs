//! The search for the rate that a store keeps.
//!
//! The rate rises by a factor until the store fails to keep a step twice. So a passing fault does not end the
//! search, and a store that allows a burst has no more of it left. The rate that the store took the second time is
//! held for longer. Whenever the store does not keep it, the next rate is what it took, less 1 %.
//!
//! Some stores take less, the more they are asked for: less than half of what they kept before, or of what was
//! held. Then the rate that the store kept before is held, and after that a fifth less each time.

use super::meter::{Counts, Meter};
use super::report::{Ending, FirstThrottled, Phase, StepKind, StepOutcome, StressStep, Sustained};
use super::settings::{OnStep, Search};
use super::step::{Driven, Driver};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The most holds of a search.
pub(super) const HOLDS: u32 = 6;
/// The most rests before a search: a store may still be busy with what was loaded.
pub(super) const RESTS: u32 = 12;
/// The share of calls that may fail, or stay unsent.
const FAILED: f64 = 0.01;
/// How late the last answer may be: this part of the step, and at least this long.
const LATE: (f64, Duration) = (0.1, Duration::from_secs(1));
/// The part of its time that a step has at least.
const LEAST_TIME: f64 = 1.0 / 3.0;
/// The part of what was taken that is held next.
const LESS: f64 = 0.99;
/// A store that takes less than this part of a rate takes less the more it is asked for.
const BROKEN_DOWN: f64 = 0.5;
/// The part of such a rate that is held next.
const FEWER: f64 = 0.8;

/// The searches of a test.
pub(super) struct Climb<'s> {
    pub driver: Driver,
    /// What calls send.
    pub above: Meter,
    /// What reaches the store, below the layers.
    pub below: Meter,
    /// What a call counts.
    pub entities_per_call: f64,
    pub requests_per_call: f64,
    pub growth: f64,
    pub step_time: Duration,
    pub hold_time: Duration,
    pub enough_calls: Option<u32>,
    pub most_requests: u64,
    pub most_time: Duration,
    pub started: Instant,
    pub requests: u64,
    pub on_step: &'s OnStep,
}

impl Climb<'_> {
    /// Waits until the store has rested and answers a call. Returns whether the test was stopped.
    pub async fn rest(&mut self, time: Duration) -> bool {
        for _ in 0..RESTS {
            let stop = self.driver.stop.clone();
            let answered = async {
                sleep(time).await;
                self.driver.is_answered().await
            };
            let is_answered = tokio::select! {
                is_answered = answered => is_answered,
                () = stop => return true,
            };
            if is_answered {
                break;
            }
        }
        self.requests += self.below.take().requests;
        false
    }

    /// Searches the rate that these partitions keep.
    pub async fn search(&mut self, search: Search) -> Phase {
        let Search { partitions, first, most } = search;
        self.driver.partitions = partitions;
        let mut phase = Phase {
            partitions,
            steps: Vec::new(),
            first_throttled: None,
            first_error: None,
            sustained: None,
            ending: Ending::NoRate,
        };
        let (mut rate, mut kept, mut is_second) = (first, 0.0, false);
        let mut held = loop {
            let step = match self.step(&mut phase, StepKind::Ramp, rate).await {
                Ok(step) => step,
                Err(ending) => return end_early(phase, ending),
            };
            let is_kept = step.outcome == StepOutcome::Kept;
            if is_kept && rate >= most {
                break most;
            } else if is_kept {
                kept = rate;
                rate = (rate * self.growth).min(most);
            } else if is_second && step.outcome == StepOutcome::OwnErrors {
                return end_early(phase, Ending::OwnErrors);
            } else if is_second {
                let taken = step.entities_per_second.min(rate);
                break if taken < BROKEN_DOWN * kept { kept } else { taken };
            }
            is_second = !is_kept;
        };
        for _ in 0..HOLDS {
            if held <= 0.0 {
                break;
            }
            let step = match self.step(&mut phase, StepKind::Hold, held).await {
                Ok(step) => step,
                Err(ending) => return end_early(phase, ending),
            };
            if step.outcome == StepOutcome::Kept {
                let is_at_least = held >= most;
                phase.sustained = Some(sustained(step, is_at_least));
                phase.ending = if is_at_least { Ending::MostRate } else { Ending::Found };
                break;
            }
            if step.outcome == StepOutcome::OwnErrors {
                return end_early(phase, Ending::OwnErrors);
            }
            let taken = step.entities_per_second.min(held);
            held = if taken < BROKEN_DOWN * held { FEWER * held } else { LESS * taken };
        }
        phase
    }

    /// Sends calls at a rate, in entities a second, and adds the step to the phase.
    async fn step<'p>(
        &mut self,
        phase: &'p mut Phase,
        kind: StepKind,
        offered: f64,
    ) -> Result<&'p StressStep, Ending> {
        let rate = offered / self.entities_per_call;
        let whole = if kind == StepKind::Ramp { self.step_time } else { self.hold_time };
        let time = length(whole, rate, self.enough_calls);
        let planned = rate * time.as_secs_f64();
        if self.requests as f64 + planned * self.requests_per_call > self.most_requests as f64 {
            return Err(Ending::MostRequests);
        }
        let at = self.started.elapsed();
        if at + time > self.most_time {
            return Err(Ending::MostTime);
        }
        drop((self.above.take(), self.below.take()));
        let driven = self.driver.drive(rate, time).await;
        let (above, below) = (self.above.take(), self.below.take());
        self.requests += below.requests;
        let seconds = if driven.is_stopped { driven.time } else { driven.time.max(time) };
        let seconds = seconds.as_secs_f64().max(f64::MIN_POSITIVE);
        let outcome = outcome(&driven, planned, time, &below);
        if let (None, Some(first)) = (phase.first_throttled, below.first_throttled) {
            let at = first.saturating_duration_since(self.started).as_secs_f64();
            phase.first_throttled = Some(FirstThrottled { at, offered });
        }
        if matches!(outcome, StepOutcome::Failed | StepOutcome::OwnErrors) {
            phase.first_error = phase.first_error.take().or(driven.first_error);
        }
        let step = StressStep {
            kind,
            at: at.as_secs_f64(),
            seconds,
            offered,
            entities_per_second: below.entities as f64 / seconds,
            requests_per_second: below.requests as f64 / seconds,
            calls: driven.sent,
            failed: driven.failed,
            unsent: driven.unsent,
            requests: below.requests,
            throttled: below.throttled,
            retries: below.requests.saturating_sub(above.requests),
            errors: below.errors,
            latency_us: driven.latency_us,
            bytes_up: below.bytes_up,
            bytes_down: below.bytes_down,
            outcome,
        };
        (self.on_step)(phase.partitions, &step);
        let step = phase.steps.push_mut(step);
        if driven.is_stopped { Err(Ending::Stopped) } else { Ok(step) }
    }
}

/// How long that many calls a second are sent.
pub(super) fn length(whole: Duration, rate: f64, enough_calls: Option<u32>) -> Duration {
    let enough = enough_calls.map_or(1.0, |calls| f64::from(calls) / (rate * whole.as_secs_f64()));
    whole.mul_f64(enough.clamp(LEAST_TIME, 1.0))
}

fn outcome(driven: &Driven, planned: f64, time: Duration, below: &Counts) -> StepOutcome {
    let (share, least) = LATE;
    let are_many = |calls: u64| calls as f64 > FAILED * driven.sent as f64;
    if driven.is_stopped {
        StepOutcome::Stopped
    } else if are_many(driven.failed) {
        // A call that has no answer yet waits for the store.
        let own = driven.failed - driven.unanswered;
        if below.throttled > 0 {
            StepOutcome::Throttled
        } else if below.faults == 0 && are_many(own) {
            StepOutcome::OwnErrors
        } else {
            StepOutcome::Failed
        }
    } else if driven.unsent as f64 > FAILED * planned
        || driven.time > time + time.mul_f64(share).max(least)
    {
        StepOutcome::Behind
    } else {
        StepOutcome::Kept
    }
}

/// A search that ended before it found the rate: the store may keep more than it has kept so far.
fn end_early(mut phase: Phase, ending: Ending) -> Phase {
    // What a later step did not take was a burst.
    let is_kept = |(at, step): &(usize, &StressStep)| {
        let is_lost = |later: &&StressStep| {
            !matches!(later.outcome, StepOutcome::Kept | StepOutcome::Stopped)
        };
        let mut later = phase.steps[*at..].iter().filter(is_lost);
        step.outcome == StepOutcome::Kept
            && later.all(|later| later.entities_per_second >= step.entities_per_second)
    };
    let kept = phase.steps.iter().enumerate().filter(is_kept).map(|(_, step)| step);
    let best =
        kept.max_by(|one, other| one.entities_per_second.total_cmp(&other.entities_per_second));
    phase.sustained = best.map(|step| sustained(step, true));
    phase.ending = ending;
    phase
}

fn sustained(step: &StressStep, is_at_least: bool) -> Sustained {
    Sustained {
        entities_per_second: step.entities_per_second,
        requests_per_second: step.requests_per_second,
        is_at_least,
    }
}
