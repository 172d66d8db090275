//! What was sustained, compared with targets and with a load.

use super::figures::{Ending, Phase, StepOutcome, Sustained};
use crate::model::{ACCOUNT_TARGET, OLDER_PARTITION_TARGET, PARTITION_TARGET};
use serde::Serialize;

/// The share of a target that counts as meeting it: the search stops that near.
const MET: f64 = 0.95;
/// How exactly a search finds a rate.
const EXACT: f64 = 0.99;
/// The part of a load that is added to leave room.
const HEAD_ROOM: f64 = 0.25;

/// The targets that the service's documentation states.
pub(in crate::stress) const DEFAULT_TARGETS: [(&str, u32, TargetScope); 3] = [
    ("older documents", OLDER_PARTITION_TARGET, TargetScope::Partition),
    ("service, partition", PARTITION_TARGET, TargetScope::Partition),
    ("service, account", ACCOUNT_TARGET, TargetScope::All),
];

/// A rate to compare with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StressTarget {
    /// Who states the target.
    pub name: String,
    /// The rate, in entities of up to 1 KiB a second.
    pub entities_per_second: f64,
    /// What has to sustain it.
    pub scope: TargetScope,
}

/// What has to sustain a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetScope {
    /// One partition.
    Partition,
    /// All partitions together.
    All,
}

impl TargetScope {
    /// Whether a search over that number of partitions shows whether the target is met.
    pub(in crate::stress) fn is_of(self, partitions: u32) -> bool {
        (partitions == 1) == (self == Self::Partition)
    }
}

/// Whether a target is met.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The target.
    pub target: StressTarget,
    /// What was sustained, in entities a second; `None` if nothing was sustained or tested.
    pub sustained: Option<f64>,
    /// Whether that is at least 95 % of the target: the search stops that near. `None` if the test
    /// ended before it could say, or did not test it.
    pub is_met: Option<bool>,
    /// Why that is not known; `None` if it is.
    pub unknown: Option<UnknownVerdict>,
}

/// Why a test does not know whether a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnknownVerdict {
    /// It was not tested.
    NotTested,
    /// The test ended before it could say.
    EndedEarly,
    /// The store kept the highest rate of the test, which is below the target.
    MostRate,
    /// Calls failed by an error of the app, and not of the store.
    OwnErrors,
}

impl Verdict {
    /// Compares what a phase sustained, if there was one.
    pub(in crate::stress) fn new(target: StressTarget, phase: Option<&Phase>) -> Self {
        let least = MET * target.entities_per_second;
        let sustained = phase.and_then(|phase| phase.sustained);
        let is_met = match (phase, sustained) {
            (None, _) => None,
            // One that ended early may have kept the rate for a short time only.
            (Some(phase), Some(found)) if found.is_at_least && phase.ending != Ending::MostRate => {
                None
            }
            (_, Some(found)) => {
                let is_met = found.entities_per_second >= least;
                (is_met || !found.is_at_least).then_some(is_met)
            }
            // A test that was stopped, and one that kept the rate for a short time only, do not say.
            (Some(phase), None) => {
                let may_be_met = phase.steps.iter().any(|step| {
                    step.outcome == StepOutcome::Kept && step.entities_per_second >= least
                });
                (phase.ending == Ending::NoRate && !may_be_met).then_some(false)
            }
        };
        let unknown = match phase {
            _ if is_met.is_some() => None,
            None => Some(UnknownVerdict::NotTested),
            Some(phase) => Some(match phase.ending {
                Ending::MostRate => UnknownVerdict::MostRate,
                Ending::OwnErrors => UnknownVerdict::OwnErrors,
                _ => UnknownVerdict::EndedEarly,
            }),
        };
        let sustained = sustained.map(|found| found.entities_per_second);
        Self { target, sustained, is_met, unknown }
    }
}

/// Over how many partitions a load has to be spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Shards {
    /// The load, in entities of up to 1 KiB a second.
    pub load: f64,
    /// What one partition sustains.
    pub sustained: f64,
    /// Whether one partition may sustain more, so that fewer partitions may suffice.
    pub is_at_least: bool,
    /// `load / sustained`, rounded up. The rate is known to 1 %, so a part of a partition below that does not count.
    pub least: u64,
    /// The part of the load that is added to leave room: 0.25.
    pub head_room: f64,
    /// The same for the load with head room.
    pub with_head_room: u64,
    /// What all partitions of the test together sustained, if that is less than the load: then no number of
    /// partitions sustains it.
    pub together: Option<f64>,
}

impl Shards {
    /// `None` where nothing reached the store. `together` is what all partitions of the test sustained.
    pub(in crate::stress) fn of(
        load: f64,
        found: Sustained,
        together: Option<Sustained>,
    ) -> Option<Self> {
        let Sustained { entities_per_second: sustained, is_at_least, .. } = found;
        let shards = |load: f64| (EXACT * load / sustained).ceil() as u64;
        let (least, with_head_room) = (shards(load), shards(load * (1.0 + HEAD_ROOM)));
        let head_room = HEAD_ROOM;
        let together = together.filter(|found| !found.is_at_least);
        let together = together.map(|found| found.entities_per_second);
        (sustained > 0.0).then_some(Self {
            load,
            sustained,
            is_at_least,
            least,
            head_room,
            with_head_room,
            together: together.filter(|together| EXACT * load > *together),
        })
    }
}
