//! What can be injected, as `NAME=VALUE`: on the command line, and line by line in a file.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use table_orm::layer::{Faults, Throttle};

/// The share of replies that [`Faults::mixed`] would cut, could a store do that.
const MIXED_CUTS: f64 = 0.05;

/// Where faults come from.
#[derive(Debug, Clone)]
pub(crate) enum FaultSource {
    Seed(u64),
    File(PathBuf),
}

impl FromStr for FaultSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::File(text.into()), Self::Seed))
    }
}

/// A kind of fault with its share of requests, or how long a fault takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Share(fn(Faults, f64) -> Faults, f64),
    CutReplies(f64),
    Time(fn(Faults, Duration) -> Faults, Duration),
}

type AddShare = fn(Faults, f64) -> Faults;
type AddTime = fn(Faults, Duration) -> Faults;

const SHARES: [(&str, AddShare); 11] = [
    ("throttled", Faults::throttled),
    ("errors-before", Faults::errors_before),
    ("errors-after", Faults::errors_after),
    ("lost-requests", Faults::lost_requests),
    ("lost-replies", Faults::lost_replies),
    ("late", Faults::late),
    ("slow", Faults::slow),
    ("empty-pages", Faults::empty_pages),
    ("short-pages", Faults::short_pages),
    ("cut-pages", Faults::cut_pages),
    ("offline", Faults::offline),
];
const CUT_REPLIES: &str = "cut-replies";
const TIMES: [(&str, AddTime); 3] = [
    ("slowest", Faults::slowest),
    ("offline-time", Faults::offline_time),
    ("deletion-time", Faults::deletion_time),
];

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as throttled=0.1")?;
        let (name, value) = (name.trim(), value.trim());
        let share = || match value.parse() {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => Err(format!("`{value}` is not a share from 0 to 1")),
        };
        if name == CUT_REPLIES {
            return Ok(Self::CutReplies(share()?));
        }
        if let Some((_, kind)) = SHARES.iter().find(|(known, _)| *known == name) {
            return Ok(Self::Share(*kind, share()?));
        }
        if let Some((_, kind)) = TIMES.iter().find(|(known, _)| *known == name) {
            let seconds =
                value.parse().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
            let time = seconds.ok_or_else(|| format!("`{value}` is not a number of seconds"))?;
            return Ok(Self::Time(*kind, time));
        }
        let known = SHARES.iter().map(|(known, _)| *known).chain([CUT_REPLIES]);
        let known: Vec<_> = known.chain(TIMES.iter().map(|(known, _)| *known)).collect();
        Err(format!("`{name}` is not one of {}", known.join(", ")))
    }
}

/// All that is injected.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FaultPlan {
    pub(super) seed: u64,
    /// `None` if no kind of fault is named.
    pub(super) faults: Option<Faults>,
    pub(super) cut_replies: f64,
    pub(super) throttle: Throttle,
}

impl FaultPlan {
    /// Nothing, yet.
    pub(super) const fn seeded(seed: u64) -> Self {
        Self { seed, faults: None, cut_replies: 0.0, throttle: Throttle::new() }
    }

    /// All kinds.
    pub(super) const fn mixed(seed: u64) -> Self {
        let faults = Some(Faults::mixed(seed));
        Self { seed, faults, cut_replies: MIXED_CUTS, throttle: Throttle::new() }
    }

    /// Reads the lines of a file. An error names its line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut seed = 0;
        let mut throttle = Throttle::new();
        let mut faults = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let of_line = |error| format!("line {number}: {error}");
            let wrong = || of_line(format!("`{}` is not a whole number", value.trim()));
            let rate = || value.trim().parse().map_err(|_| wrong());
            match name.trim() {
                "" => {}
                "seed" => seed = value.trim().parse().map_err(|_| wrong())?,
                "partition-rate" => throttle = throttle.per_partition(rate()?),
                "account-rate" => throttle = throttle.per_account(rate()?),
                _ => faults.push(line.parse().map_err(of_line)?),
            }
        }
        let plan = Self { throttle, ..Self::seeded(seed) };
        Ok(faults.into_iter().fold(plan, Self::with))
    }

    /// The same with another fault.
    pub(super) fn with(mut self, fault: Fault) -> Self {
        let faults = || self.faults.clone().unwrap_or_else(|| Faults::seeded(self.seed));
        match fault {
            Fault::Share(kind, share) => self.faults = Some(kind(faults(), share)),
            Fault::Time(kind, time) => self.faults = Some(kind(faults(), time)),
            Fault::CutReplies(share) => self.cut_replies = share,
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_the_flags_say() {
        let text = "# a bad day\nseed = 7\n\nthrottled = 0.1 # 503\ncut-replies=0.2\n\
                    offline=0.01\r\noffline-time = 2.5\npartition-rate = 2000\naccount-rate=20000\n";
        let faults = Faults::seeded(7).throttled(0.1).offline(0.01);
        let expected = FaultPlan {
            seed: 7,
            faults: Some(faults.offline_time(Duration::from_millis(2500))),
            cut_replies: 0.2,
            throttle: Throttle::new().per_partition(2000).per_account(20_000),
        };
        assert_eq!(FaultPlan::read(text), Ok(expected));
        assert_eq!(FaultPlan::read(""), Ok(FaultPlan::seeded(0)));
    }

    #[test]
    fn a_mistake_in_a_file_is_named_with_its_line() {
        for (text, expected) in [
            ("seed=7\nthrotled=0.1", "line 2: `throtled` is not one of throttled, "),
            ("throttled=2", "line 1: `2` is not a share from 0 to 1"),
            ("throttled", "line 1: write NAME=VALUE"),
            ("\nseed=x", "line 2: `x` is not a whole number"),
            ("partition-rate=-1", "line 1: `-1` is not a whole number"),
            ("slowest=soon", "line 1: `soon` is not a number of seconds"),
            ("slowest=-1", "line 1: `-1` is not a number of seconds"),
        ] {
            let error = FaultPlan::read(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_number_is_a_seed_and_else_a_file_is_meant() {
        assert!(matches!("7".parse(), Ok(FaultSource::Seed(7))));
        assert!(matches!("./7".parse(), Ok(FaultSource::File(path)) if path == *"./7"));
    }
}
