//! The load of each partition.
//!
//! Invariant: the rows of a step count for the partition that it names. A step that names none, such as one that
//! writes what was read, counts for the partition before it. Where a read finds entities whose canonical rows are in
//! other partitions, or whose rows in other partitions then change, these count for the partitions of the sample
//! entities that it finds. A guard row counts for no partition: it has one of its own, which is never hot.

use super::estimate::{Estimate, owner_of, sample_of};
use super::pattern::Pattern;
use super::sample::{PartitionName, Sample};
use crate::model::TableName;
use crate::plan::{Plan, Step};
use crate::query::{RowQuery, Span};
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

/// The partitions that a page lists; the others have a line together. A range over shards may name hundreds.
const LISTED: usize = 20;

/// The partitions that a page lists, how many there are besides, and the most rows a second of one of these.
pub(super) fn listed(loads: &[PartitionLoad]) -> (&[PartitionLoad], Option<(usize, f64)>) {
    let (listed, others) = loads.split_at(loads.len().min(LISTED));
    let others = others.first().map(|most| (others.len(), most.rows_per_second));
    (listed, others)
}

/// The load of each partition that a pattern names, the highest first.
pub(super) fn loads(
    patterns: &[(&Pattern, Vec<Estimate>)],
    samples: &[Sample],
) -> Vec<PartitionLoad> {
    let mut loads = BTreeMap::<PartitionName, BTreeMap<usize, f64>>::new();
    for (at, (pattern, steps)) in patterns.iter().enumerate() {
        let spread = [pattern.partitions, pattern.other_partitions];
        for (place, rows, is_other) in rows_by_place(&pattern.plan, steps, samples) {
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
fn rows_by_place(
    plan: &Plan,
    steps: &[Estimate],
    samples: &[Sample],
) -> Vec<(PartitionName, f64, bool)> {
    let mut here = plan.steps.iter().find_map(own);
    let mut query = None;
    let mut rows = Vec::new();
    for (step, estimate) in plan.steps.iter().zip(steps) {
        here = own(step).or(here);
        if let Step::Read { query: of_step, .. } = step {
            query = Some(of_step);
        }
        let of_others = estimate.rows_of_others as f64;
        if of_others > 0.0 {
            let others = other_partitions(step, query, samples);
            rows.extend(others.into_iter().map(|(place, share)| (place, of_others * share, true)));
        }
        let of_own = estimate.rows_at_home() as f64;
        let own = own_partitions(step, here.as_ref(), query, samples);
        rows.extend(own.into_iter().map(|(place, share)| (place, of_own * share, false)));
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

/// The partitions of the entities, and the share of the step's rows in each.
fn own_partitions(
    step: &Step,
    here: Option<&PartitionName>,
    query: Option<&RowQuery>,
    samples: &[Sample],
) -> Vec<(PartitionName, f64)> {
    if let (Step::ReadCanonical { table }, Some(query)) = (step, query)
        && let Some(sample) = owner_of(query, table, samples)
    {
        return sample.homes(query);
    }
    here.map(|here| (here.clone(), 1.0)).into_iter().collect()
}

/// The partitions with rows that follow the entity, and the share of the step's rows in each.
fn other_partitions(
    step: &Step,
    query: Option<&RowQuery>,
    samples: &[Sample],
) -> Vec<(PartitionName, f64)> {
    let named = match step {
        Step::MakeTickets { partitions, .. }
        | Step::SettleWithTickets { partitions, .. }
        | Step::Settle { partitions, .. } => &partitions[..],
        _ => &[],
    };
    if named.is_empty() {
        let others = |query| Some(sample_of(query, samples)?.others(query));
        return query.and_then(others).unwrap_or_default();
    }
    let share = 1.0 / named.len() as f64;
    named.iter().map(|(table, key)| (place(table, key), share)).collect()
}
