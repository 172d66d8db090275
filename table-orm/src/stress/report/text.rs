//! The report for a terminal.

use super::figures::{Ending, Phase, StepKind, StepOutcome, StressStep};
use super::stress_report::StressReport;
use super::verdict::{Shards, UnknownVerdict, Verdict};
use crate::figures::{Percentiles, bytes, grouped, rounded};
use crate::model::Printable;
use std::fmt;

impl fmt::Display for StressReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Stress test of {}", self.store)?;
        writeln!(f, "{}", self.described())?;
        for phase in &self.phases {
            writeln!(f, "\n{}", phase.name())?;
            writeln!(f, "{HEAD}")?;
            for step in &phase.steps {
                writeln!(f, "{step}")?;
            }
            writeln!(f, "{}", phase.described())?;
        }
        writeln!(f)?;
        for verdict in &self.verdicts {
            writeln!(f, "{verdict}")?;
        }
        if let Some(shards) = &self.shards {
            writeln!(f, "{shards}")?;
        }
        writeln!(f, "{}", self.spent())
    }
}

impl StressReport {
    /// What was called.
    pub(super) fn described(&self) -> String {
        let of = |bytes: usize| format!("entities of {bytes} bytes, ");
        let entities = self.entity_bytes.map(of).unwrap_or_default();
        format!(
            "{}: {entities}{:.2} entities a call, at most {} calls in flight",
            self.calls, self.entities_per_call, self.in_flight
        )
    }

    /// What it took.
    pub(super) fn spent(&self) -> String {
        let stopped = if self.is_stopped { "; it was stopped before its end" } else { "" };
        let left = match &self.table_left {
            Some(why) => format!("; the table `{}` is still there: {why}", self.table),
            None => "; its table is deleted".to_owned(),
        };
        let (requests, seconds) = (grouped(self.requests), self.seconds);
        format!(
            "The test sent {requests} requests in {seconds:.0} s, beside those that loaded its table{stopped}{left}."
        )
    }
}

impl Phase {
    pub(super) fn name(&self) -> String {
        match self.partitions {
            1 => "One partition".to_owned(),
            several => format!("{several} partitions"),
        }
    }

    /// What was found, in a sentence or two.
    pub(super) fn described(&self) -> String {
        let found = match (self.sustained, self.ending) {
            (Some(rate), ending) => {
                let least = if rate.is_at_least { "at least " } else { "" };
                let why = match ending {
                    Ending::MostRate => ": the highest rate of this test",
                    Ending::MostRequests => ": then the test would have sent too many requests",
                    Ending::MostTime => ": then the test would have taken too long",
                    Ending::Stopped => ": then it was stopped",
                    Ending::OwnErrors => ": then calls failed by an error of the app",
                    Ending::Found | Ending::NoRate => "",
                };
                format!(
                    "Sustained: {least}{} entities/s in {} requests/s{why}.",
                    rounded(rate.entities_per_second),
                    rounded(rate.requests_per_second),
                )
            }
            (None, Ending::Stopped) => "The test was stopped before a rate was kept.".to_owned(),
            (None, Ending::MostRequests) => {
                "No rate was kept before the test would have sent too many requests.".to_owned()
            }
            (None, Ending::MostTime) => {
                "No rate was kept before the test would have taken too long.".to_owned()
            }
            (None, Ending::OwnErrors) => {
                "No rate was kept before calls failed by an error of the app.".to_owned()
            }
            (None, _) => "No rate was sustained.".to_owned(),
        };
        let found = match &self.first_error {
            Some(error) => format!("{found} Calls failed, at first with: {}.", Printable(error)),
            None => found,
        };
        match self.first_throttled {
            Some(first) => format!(
                "{found} First 429 or 503 after {:.0} s, at {} entities/s.",
                first.at,
                rounded(first.offered)
            ),
            None => format!("{found} No request was throttled."),
        }
    }
}

const HEAD: &str = "         entities a second  requests  failed                            latency in ms
  step     sent     took       /s      %  429/503  retries     p50     p90     p99   p99.9     max         up       down";

impl fmt::Display for StressStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "  {:<4} {:>8} {:>8} {:>8} {:>6.1} {:>8} {:>8}",
            self.kind.name(),
            rounded(self.offered),
            rounded(self.entities_per_second),
            rounded(self.requests_per_second),
            self.failed_percent(),
            grouped(self.throttled),
            grouped(self.retries),
        )?;
        for millis in self.latencies() {
            write!(f, "{millis:>8.1}")?;
        }
        write!(f, "{:>11}{:>11}", bytes(self.bytes_up), bytes(self.bytes_down))?;
        match self.outcome {
            StepOutcome::Kept => {}
            outcome => write!(f, "  {}", outcome.name())?,
        }
        for (code, count) in &self.errors {
            write!(f, ", {count} {code}")?;
        }
        if self.unsent > 0 {
            write!(f, ", {} unsent", self.unsent)?;
        }
        Ok(())
    }
}

impl StressStep {
    /// Milliseconds: p50, p90, p99, p99.9 and the longest.
    pub(super) fn latencies(&self) -> [f64; 5] {
        let Percentiles { p50, p90, p99, p999, most, .. } = self.latency_us;
        [p50, p90, p99, p999, most].map(|micros| micros as f64 / 1000.0)
    }

    /// The share of its calls that failed.
    pub(super) fn failed_percent(&self) -> f64 {
        100.0 * self.failed as f64 / self.calls.max(1) as f64
    }
}

impl StepKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ramp => "ramp",
            Self::Hold => "hold",
        }
    }
}

impl StepOutcome {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Throttled => "throttled",
            Self::Failed => "failed",
            Self::OwnErrors => "own errors",
            Self::Behind => "behind",
            Self::Stopped => "stopped",
        }
    }
}

impl Verdict {
    /// Whether the target is met.
    pub(super) const fn word(&self) -> &'static str {
        match (self.is_met, self.unknown) {
            (Some(true), _) => "met",
            (Some(false), _) => "not met",
            (None, Some(UnknownVerdict::EndedEarly)) => "unknown: the test ended early",
            (None, Some(UnknownVerdict::MostRate)) => {
                "unknown: the highest rate of this test is lower"
            }
            (None, Some(UnknownVerdict::OwnErrors)) => {
                "unknown: calls failed by an error of the app"
            }
            (None, Some(UnknownVerdict::NotTested) | None) => "not tested",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = rounded(self.target.entities_per_second);
        write!(f, "Target of {target} entities/s ({}): {}", self.target.name, self.word())?;
        match self.sustained {
            Some(rate) => write!(f, ", {} sustained", rounded(rate)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { load, sustained, is_at_least, least, head_room, with_head_room, together } =
            self;
        let at_most = if *is_at_least { "at most " } else { "" };
        let head_room = 100.0 * head_room;
        write!(
            f,
            "A load of {} entities/s needs {at_most}{least} partition{} of {} each; with {head_room} % head room, \
             {with_head_room}",
            rounded(*load),
            if *least == 1 { "" } else { "s" },
            rounded(*sustained)
        )?;
        match together {
            Some(together) => write!(
                f,
                ". All partitions of the test together sustained {}: spread the load over several accounts",
                rounded(*together)
            ),
            None => Ok(()),
        }
    }
}
