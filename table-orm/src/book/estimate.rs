//! What one call of a pattern costs, for the entities that the samples stand for.

use super::sample::{Found, Sample};
use crate::model::{MAX_PAGE_ROWS, PARTITION_TARGET, TableName};
use crate::plan::{Bounds, Cost, PlacedCost, Plan, Step};
use crate::query::{QueryClass, RowQuery};
use serde::{Serialize, Serializer};
use std::fmt;

/// What a pattern is for the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternClass {
    /// It reads: the costliest class of its queries.
    Read(QueryClass),
    /// It writes one row.
    Write,
    /// It writes several rows, all or none.
    Transaction,
}

impl fmt::Display for PatternClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(class) => class.fmt(f),
            Self::Write => f.pad("write"),
            Self::Transaction => f.pad("transaction"),
        }
    }
}

impl Serialize for PatternClass {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl PatternClass {
    pub(super) fn of(plan: &Plan) -> Self {
        let writes = |step: &Step| match step {
            Step::Read { .. } | Step::ReadCanonical { .. } | Step::ReadFirst { .. } => None,
            Step::Write { .. } => Some(Self::Write),
            _ => Some(Self::Transaction),
        };
        let written = plan.steps.iter().filter_map(writes);
        let written = written.max_by_key(|class| *class == Self::Transaction);
        written.unwrap_or(Self::Read(plan.class().unwrap_or(QueryClass::Point)))
    }
}

/// The rows that a partition reads in the 5 seconds of a page, at the rate that the service aims at.
const ROWS_IN_TIME: f64 = 5.0 * PARTITION_TARGET as f64;

/// What one call costs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimate {
    pub requests: u64,
    pub rows_read: u64,
    pub matching: u64,
    pub rows_written: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
    /// Whether more may be needed than is known before the call.
    pub at_least: bool,
    /// The rows that it reads and writes in other partitions with rows of the entities.
    pub rows_of_others: u64,
    /// Those in the partitions of guard rows.
    pub rows_of_guards: u64,
}

impl Estimate {
    /// One for each step. `rows` are those in the ranges that the plan reads, where the samples are too few to
    /// show it: each of several ranges has its part.
    pub fn of_steps(plan: &Plan, rows: Option<u64>, samples: &[Sample]) -> Vec<Self> {
        let ranges = plan.steps.iter().filter(|step| reads_range(step)).count() as u64;
        let (mut before, mut range, mut query) = (Self::default(), 0, None);
        let estimate = |step| {
            let of_range = rows.filter(|_| reads_range(step)).map(|rows| {
                range += 1;
                rows / ranges + u64::from(range <= rows % ranges)
            });
            if let Step::Read { query: of_step, .. } = step {
                query = Some(of_step);
            }
            before = match step {
                Step::Read { query, limit, .. } => Self::of_read(query, *limit, of_range, samples),
                Step::ReadCanonical { table } => {
                    let sample =
                        query.and_then(|query| Some((query, owner_of(query, table, samples)?)));
                    Self::of_canonical(before.matching, sample)
                }
                Step::WriteFound { of_each, .. } => {
                    Self::of_placed(&of_each.times(Bounds::exactly(before.matching)))
                }
                // Calls of one minute share it.
                Step::Register { .. } => Self::default(),
                step => Self::of_placed(&step.placed_cost()),
            };
            before
        };
        plan.steps.iter().map(estimate).collect()
    }

    /// All steps together.
    pub fn sum(steps: &[Self]) -> Self {
        steps.iter().fold(Self::default(), |all, one| all.and(*one))
    }

    /// A point query for each of the entities that a query finds.
    fn of_canonical(entities: u64, sample: Option<(&RowQuery, &Sample)>) -> Self {
        let bytes = sample.map_or(0.0, |(query, sample)| sample.canonical_bytes(query));
        Self {
            requests: entities,
            rows_read: entities,
            matching: entities,
            bytes_down: round(bytes * entities as f64),
            ..Self::default()
        }
    }

    fn of_placed(PlacedCost { home, others, guards, .. }: &PlacedCost) -> Self {
        let [home, others, guards] = [home, others, guards].map(Self::of_cost);
        let (rows_of_others, rows_of_guards) = (others.rows(), guards.rows());
        Self { rows_of_others, rows_of_guards, ..home.and(others).and(guards) }
    }

    /// The most that it can be; where nothing limits it, the least.
    fn of_cost(cost: &Cost) -> Self {
        let bounds = [cost.transactions, cost.rows_read, cost.rows_written];
        let [requests, rows_read, rows_written] =
            bounds.map(|bounds| bounds.most.unwrap_or(bounds.least));
        Self {
            requests,
            rows_read,
            matching: rows_read,
            rows_written,
            // What the answer to a read decides is not known.
            bytes_up: cost.bytes_up.least,
            bytes_down: 0,
            at_least: bounds.iter().any(|bounds| bounds.most.is_none()),
            ..Self::default()
        }
    }

    fn of_read(
        query: &RowQuery,
        limit: Option<usize>,
        rows: Option<u64>,
        samples: &[Sample],
    ) -> Self {
        let is_point = query.keys.class() == QueryClass::Point;
        let rows = if is_point { Some(1) } else { rows };
        let Found { in_range, matching, bytes } = match (found(query, samples), rows) {
            (Some(found), Some(rows)) => found.of_rows(rows as f64),
            (Some(found), None) => found,
            (None, rows) => {
                let of_one = sample_of(query, samples).map(|sample| sample.bytes_of_one(query));
                Found::all(rows.unwrap_or_default() as f64, of_one.unwrap_or_default())
            }
        };
        if is_point {
            let (requests, rows_read, matching, bytes_down) = (1, 1, 1, round(bytes));
            return Self { requests, rows_read, matching, bytes_down, ..Self::default() };
        }
        let wanted = limit.map_or(matching, |limit| matching.min(limit as f64));
        // The rows before the last one that is wanted.
        let share = if matching > 0.0 { wanted / matching } else { 1.0 };
        let size = f64::from(query.top.unwrap_or(MAX_PAGE_ROWS));
        // A page also ends after 5 seconds.
        let pages = (wanted / size).max(in_range * share / ROWS_IN_TIME);
        Self {
            requests: (pages.ceil() as u64).max(1),
            rows_read: round(in_range * share),
            matching: round(wanted),
            bytes_down: round(bytes * share),
            ..Self::default()
        }
    }

    /// The rows that a call reads and writes.
    pub const fn rows(&self) -> u64 {
        self.rows_read + self.rows_written
    }

    /// Those of them in the partition of the entities.
    pub const fn rows_at_home(&self) -> u64 {
        self.rows() - self.rows_of_others - self.rows_of_guards
    }

    fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            rows_read: self.rows_read.saturating_add(other.rows_read),
            matching: self.matching.saturating_add(other.matching),
            rows_written: self.rows_written.saturating_add(other.rows_written),
            bytes_up: self.bytes_up.saturating_add(other.bytes_up),
            bytes_down: self.bytes_down.saturating_add(other.bytes_down),
            at_least: self.at_least || other.at_least,
            rows_of_others: self.rows_of_others.saturating_add(other.rows_of_others),
            rows_of_guards: self.rows_of_guards.saturating_add(other.rows_of_guards),
        }
    }
}

/// The samples of the type that a query is for.
pub(super) fn sample_of<'a>(query: &RowQuery, samples: &'a [Sample]) -> Option<&'a Sample> {
    samples.iter().find(|sample| sample.is_of(query))
}

/// The samples of the type in a table whose entities a query finds: by their own rows, or by the guard row of a value.
pub(super) fn owner_of<'a>(
    query: &RowQuery,
    table: &TableName,
    samples: &'a [Sample],
) -> Option<&'a Sample> {
    let of_guard = || samples.iter().find(|sample| sample.has_guard(query));
    let of_table = || samples.iter().find(|sample| sample.is_in(table));
    sample_of(query, samples).or_else(of_guard).or_else(of_table)
}

/// What a query finds among all samples; `None` where it reads no row of any.
pub(super) fn found(query: &RowQuery, samples: &[Sample]) -> Option<Found> {
    let found = samples.iter().map(|sample| sample.found(query));
    Some(found.fold(Found::default(), Found::and)).filter(|found| found.in_range > 0.0)
}

fn round(number: f64) -> u64 {
    number.round() as u64
}

/// Whether a step reads a range of rows, and not one.
fn reads_range(step: &Step) -> bool {
    matches!(step, Step::Read { query, .. } if query.keys.class() != QueryClass::Point)
}
