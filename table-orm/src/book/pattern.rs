//! One access pattern: what an app asks or writes, how often, and how fast it must be.

use crate::plan::Plan;
use std::time::Duration;

/// The seconds of a month: a twelfth of 365.25 days.
pub(crate) const MONTH: f64 = 2_629_800.0;

/// Whether calls can be that often.
fn is_rate(calls: &f64) -> bool {
    calls.is_finite() && *calls >= 0.0
}

/// What an app reads or writes in one place: a name, the plan of a typed call, how often and how fast.
///
/// The values in the call are samples: pick those of the largest partition.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub(super) name: String,
    pub(super) plan: Plan,
    pub(super) per_second: f64,
    pub(super) per_month: Option<f64>,
    pub(super) partitions: u64,
    pub(super) other_partitions: u64,
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
            per_month: None,
            partitions: 1,
            other_partitions: 1,
            within: None,
            rows: None,
        }
    }

    /// Sets how often all users together ask, at the busiest time. A number that is below 0, infinite or not a number
    /// is reported as [`BookFinding::InvalidRate`](super::BookFinding::InvalidRate), and counts as 0.
    #[must_use]
    pub fn per_second(self, calls: f64) -> Self {
        Self { per_second: calls, ..self }
    }

    /// Sets how often all users together ask in an hour.
    #[must_use]
    pub fn per_hour(self, calls: f64) -> Self {
        self.per_second(calls / 3_600.0)
    }

    /// Sets how often all users together ask in a minute.
    #[must_use]
    pub fn per_minute(self, calls: f64) -> Self {
        self.per_second(calls / 60.0)
    }

    /// Sets how often all users together ask in a day.
    #[must_use]
    pub fn per_day(self, calls: f64) -> Self {
        self.per_second(calls / 86_400.0)
    }

    /// Sets how many calls a month has, for its price. Without it, the rate holds all month. That is too much for a
    /// rate of the busiest time.
    ///
    /// ```
    /// # use table_orm::book::{Book, Pattern, Prices};
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}", row = "{bib:05}")]
    /// # struct Runner { race: String, bib: u32 }
    /// # fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// let plan = runners.get(Runner::partition("Boston").row().bib(7)).plan()?;
    /// // 500 a second on the day of the race, and 40 million in its month.
    /// let pattern = Pattern::new("a runner", plan).per_second(500.0).per_month(40_000_000.0);
    /// # let price = |pattern| Book::new("", Prices::east_us_2()).pattern(pattern).report().price_per_month;
    /// # assert!(price(pattern.clone()) < price(pattern.per_month(80_000_000.0)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn per_month(self, calls: f64) -> Self {
        Self { per_month: Some(calls), ..self }
    }

    /// The calls of a month.
    pub(super) fn calls_of_month(&self) -> f64 {
        self.per_month.filter(is_rate).unwrap_or(self.calls_per_second() * MONTH)
    }

    /// The calls of a second; none for a number that is no rate.
    pub(super) fn calls_per_second(&self) -> f64 {
        Some(self.per_second).filter(is_rate).unwrap_or_default()
    }

    /// A number of calls that is no rate.
    pub(super) fn invalid_rate(&self) -> Option<f64> {
        [Some(self.per_second), self.per_month].into_iter().flatten().find(|rate| !is_rate(rate))
    }

    /// Sets over how many partitions the calls of each second spread evenly; without it, all go to one. 0 counts as
    /// 1. Writes by `spread(at, second)` of the present time are in one partition at a time, so they do without it.
    #[must_use]
    pub fn over_partitions(self, partitions: u64) -> Self {
        Self { partitions: partitions.max(1), ..self }
    }

    /// Sets over how many partitions the `eventual` rows that these calls write spread evenly; without it, all go to
    /// those that the plan names. 0 counts as 1.
    #[must_use]
    pub fn over_other_partitions(self, partitions: u64) -> Self {
        Self { other_partitions: partitions.max(1), ..self }
    }

    /// Sets how many rows a call reads, all of its queries together, where the samples are too few to show it. The
    /// share that matches is that of the samples; without a sample in the range, all match, and each has the bytes of
    /// the samples' rows of its kind.
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
