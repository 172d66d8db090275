//! The load of each partition.
//!
//! Invariant: the rows of a step count for the partition that it names. A step that names none, such as one that
//! writes what was read, counts for the partition before it. Where the answer to a read decides in which other
//! partitions rows change, they count for none of them.

use super::estimate::Estimate;
use super::pattern::Pattern;
use crate::model::TableName;
use crate::plan::{Plan, Step};
use crate::query::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// The load of a partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartitionLoad {
    /// Its table.
    pub table: String,
    /// Its PartitionKey.
    pub partition_key: String,
    /// Rows that are read and written in a second.
    pub rows_per_second: f64,
    /// The pattern with the most of them.
    pub most_by: String,
}

/// A table and a PartitionKey.
type PartitionName = (String, String);

/// The load of each partition that a pattern names, the highest first.
pub(super) fn loads(patterns: &[(&Pattern, Vec<Estimate>)]) -> Vec<PartitionLoad> {
    let mut loads = BTreeMap::<PartitionName, BTreeMap<usize, f64>>::new();
    for (at, (pattern, steps)) in patterns.iter().enumerate() {
        let spread = [pattern.partitions, pattern.other_partitions];
        for (place, rows, is_other) in rows_by_place(&pattern.plan, steps) {
            let load = pattern.calls_per_second() * rows / spread[usize::from(is_other)] as f64;
            *loads.entry(place).or_default().entry(at).or_default() += load;
        }
    }
    let load =
        |((table, partition_key), of): (PartitionName, BTreeMap<usize, f64>)| PartitionLoad {
            table,
            partition_key,
            rows_per_second: of.values().sum(),
            most_by: of
                .iter()
                .max_by(|(_, one), (_, other)| one.total_cmp(other))
                .map_or_else(String::new, |(at, _)| patterns[*at].0.name.clone()),
        };
    let mut loads: Vec<_> = loads.into_iter().map(load).collect();
    loads.sort_by(|one, other| other.rows_per_second.total_cmp(&one.rows_per_second));
    loads
}

/// The rows that a call reads and writes in each partition, and whether it is another one than that of the entity.
fn rows_by_place(plan: &Plan, steps: &[Estimate]) -> Vec<(PartitionName, f64, bool)> {
    let mut here = plan.steps.iter().find_map(own);
    let mut rows = Vec::new();
    for (step, estimate) in plan.steps.iter().zip(steps) {
        here = own(step).or(here);
        let (others, of_others) = other_partitions(step, estimate.rows());
        let of_each = of_others as f64 / others.len().max(1) as f64;
        rows.extend(others.iter().map(|(table, key)| (place(table, key), of_each, true)));
        let of_own = (estimate.rows() - of_others) as f64;
        rows.extend(here.clone().map(|here| (here, of_own, false)));
    }
    rows
}

/// The partition that a step names as the one it reads or writes.
fn own(step: &Step) -> Option<PartitionName> {
    let (table, key) = match step {
        Step::Read { query, .. } => match &query.keys.partition {
            Span::Exact(key) => (&query.table, key),
            _ => return None,
        },
        Step::Write { table, partition_key, .. }
        | Step::CommitReads { table, partition_key, .. } => (table, partition_key),
        Step::Commit { table, batch } => (table, &batch.partition_key),
        _ => return None,
    };
    Some(place(table, key))
}

fn place(table: &TableName, key: &str) -> PartitionName {
    (table.as_str().to_owned(), key.to_owned())
}

/// The partitions with rows that follow the entity, and how many rows of the step are there. A guard row has a
/// partition of its own, which is never hot.
fn other_partitions(step: &Step, rows: u64) -> (&[(TableName, String)], u64) {
    match step {
        Step::MakeTickets { partitions } => (partitions, rows),
        // But for the delete of the intent.
        Step::SettleWithTickets { partitions, .. } => (partitions, rows.saturating_sub(1)),
        // But for the read of the canonical row, too.
        Step::Settle { partitions, .. } => (partitions, rows.saturating_sub(2)),
        Step::Reserve { guards } | Step::Release { guards } => {
            (&[], rows.min(2 * guards.len() as u64))
        }
        _ => (&[], 0),
    }
}
