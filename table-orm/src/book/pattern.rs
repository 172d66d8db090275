//! One access pattern: what an app asks or writes, how often, and how fast it must be.

use crate::plan::Plan;
use std::time::Duration;

/// The seconds of a month: a twelfth of 365.25 days.
pub(super) const MONTH: f64 = 2_629_800.0;

/// What an app asks or writes in one place: a name, the plan of a typed call, how often and how fast.
///
/// The values in the call are samples: pick those of the largest partition.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub(super) name: String,
    pub(super) plan: Plan,
    pub(super) per_second: f64,
    pub(super) partitions: u64,
    pub(super) partitions_elsewhere: u64,
    pub(super) within: Option<Duration>,
    pub(super) rows: Option<u64>,
}

impl Pattern {
    /// A pattern that is never called, until a rate is set. `plan` is what the call's `plan()` returns.
    ///
    /// The book counts all pages of a query. For a call that shows one page, take the plan of the query with
    /// `take(size)`.
    #[must_use]
    pub fn new(name: impl Into<String>, plan: Plan) -> Self {
        Self {
            name: name.into(),
            plan,
            per_second: 0.0,
            partitions: 1,
            partitions_elsewhere: 1,
            within: None,
            rows: None,
        }
    }

    /// Sets how often all users together ask, at the busiest time.
    #[must_use]
    pub fn per_second(self, calls: f64) -> Self {
        Self { per_second: calls, ..self }
    }

    /// Sets how often all users together ask in an hour.
    #[must_use]
    pub fn per_hour(self, calls: f64) -> Self {
        self.per_second(calls / 3_600.0)
    }

    /// Sets how often all users together ask in a day.
    #[must_use]
    pub fn per_day(self, calls: f64) -> Self {
        self.per_second(calls / 86_400.0)
    }

    /// Sets over how many partitions these calls spread evenly; without it, all go to one.
    #[must_use]
    pub fn over_partitions(self, partitions: u64) -> Self {
        Self { partitions: partitions.max(1), ..self }
    }

    /// Sets over how many partitions the rows spread evenly that such calls write in other partitions than that of
    /// the entity; without it, all go to those that the plan names.
    #[must_use]
    pub fn over_partitions_elsewhere(self, partitions: u64) -> Self {
        Self { partitions_elsewhere: partitions.max(1), ..self }
    }

    /// Sets how many rows a call reads, all of its queries together, where the samples are too few to show it. The share that matches is that
    /// of the samples; without a sample in the range, all match.
    #[must_use]
    pub const fn reading(mut self, rows: u64) -> Self {
        self.rows = Some(rows);
        self
    }

    /// Sets the time in which a call must be answered.
    #[must_use]
    pub const fn within(mut self, time: Duration) -> Self {
        self.within = Some(time);
        self
    }
}
