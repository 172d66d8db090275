//! Finds what stands out in a book.

use super::estimate::found;
use super::finding::{BookFinding, CAREFUL, REQUEST_MS, Target};
use super::load::PartitionLoad;
use super::pattern::Pattern;
use super::report::{BookReport, PatternReport};
use super::sample::Sample;
use super::usage::{queries, reads};
use crate::entity::CopyKind;
use crate::model::EXPIRY_START;
use crate::query::{Filter, QueryClass, RowQuery};
use std::collections::BTreeSet;

/// The share of matching rows below which another row would serve a query better.
const DENSE: f64 = 0.1;
/// Names of components that count time: an integer shows only by its name what it counts. A `second` comes again each
/// minute, so it spreads.
const TIMES: [&str; 20] = [
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "date",
    "hour",
    "minute",
    "seconds",
    "time",
    "timestamp",
    "at",
    "ts",
    "ms",
    "millis",
    "micros",
    "nanos",
    "yyyymmdd",
    "ticks",
    "epoch",
];
/// The rows below which nobody waits for those that do not match.
const FEW: u64 = 100;

pub(super) fn findings(
    report: &BookReport,
    samples: &[Sample],
    patterns: &[Pattern],
) -> Vec<BookFinding> {
    let mut findings = Vec::new();
    for (at, (pattern, own)) in report.patterns.iter().zip(patterns).enumerate() {
        // A call that writes may find by a scan what it writes.
        let scans =
            matches!(own.plan.class(), Some(QueryClass::PartitionRange | QueryClass::TableScan));
        let (name, rows) = (pattern.name.clone(), pattern.rows_read);
        if is_blank(&name) {
            findings.push(BookFinding::NoName { pattern: name.clone() });
        } else if is_second(&report.patterns[..=at]) {
            findings.push(BookFinding::SameName { pattern: name.clone() });
        }
        if let Some(calls) = own.invalid_rate() {
            let (pattern, calls) = (name.clone(), calls.to_string());
            findings.push(BookFinding::InvalidRate { pattern, calls });
        }
        if scans {
            findings.push(BookFinding::Scans { pattern: name.clone(), rows });
        }
        let dense = pattern.rows_matching as f64 >= DENSE * rows as f64;
        if !dense && rows > FEW && !scans {
            let rows_matching = pattern.rows_matching;
            findings.push(BookFinding::Sparse {
                pattern: name.clone(),
                rows_read: rows,
                rows_matching,
            });
        }
        if let Some(within_ms) = pattern.within_ms
            && pattern.rounds * REQUEST_MS > within_ms
        {
            findings.push(BookFinding::Slow {
                pattern: name.clone(),
                requests: pattern.requests,
                rounds: pattern.rounds,
                within_ms,
            });
        }
        if reads_no_sample(own, samples) {
            findings.push(BookFinding::NoSample { pattern: name });
        }
    }
    findings.extend(report.partitions.iter().filter_map(of_load));
    if report.rows_per_second > Target::Account.rows_per_second() {
        findings.push(BookFinding::HotAccount { rows_per_second: report.rows_per_second });
    }
    findings.extend(report.unplanned().map(|pattern| {
        if is_blank(&pattern) {
            BookFinding::NoName { pattern }
        } else {
            BookFinding::Unplanned { pattern }
        }
    }));
    for (at, sample) in samples.iter().enumerate() {
        if samples[..at].iter().any(|other| other.is_of_type(sample)) {
            findings.push(BookFinding::SameType { entity: sample.schema.entity });
            continue;
        }
        growing(sample, &mut findings);
        of_rows(sample, patterns, &mut findings);
    }
    findings
}

/// Whether exactly one pattern before the last one has its name: a finding for each name is enough.
fn is_second(patterns: &[PatternReport]) -> bool {
    let is_same = |one: &&PatternReport| patterns.last().is_some_and(|last| last.name == one.name);
    patterns.iter().filter(is_same).count() == 2
}

/// Whether a pattern reads ranges of which none has a sample, and does not say how many rows they have.
fn reads_no_sample(pattern: &Pattern, samples: &[Sample]) -> bool {
    let is_typed_range =
        |query: &&RowQuery| query.mark.entity.is_some() && query.keys.class() != QueryClass::Point;
    let mut ranges = queries(pattern).filter(is_typed_range).peekable();
    pattern.rows.is_none()
        && ranges.peek().is_some()
        && ranges.all(|query| found(query, samples).is_none())
}

fn is_blank(name: &str) -> bool {
    name.trim().is_empty()
}

/// A partition with more load than needs no second look.
fn of_load(load: &PartitionLoad) -> Option<BookFinding> {
    let PartitionLoad { table, partition_key, rows_per_second, most_by } = load.clone();
    if rows_per_second > Target::Partition.rows_per_second() {
        return Some(BookFinding::HotPartition { table, partition_key, rows_per_second, most_by });
    }
    (rows_per_second > CAREFUL).then_some(BookFinding::BusyPartition {
        table,
        partition_key,
        rows_per_second,
        most_by,
    })
}

/// The PartitionKeys of a type that start with a component named after a time: those that `allow_append_only` accepts,
/// those of types whose values the derive does not know, and those of rows in other partitions.
fn growing(sample: &Sample, findings: &mut Vec<BookFinding>) {
    let eventual = sample.schema.rows.iter().map(|row| row.partition);
    let templates = BTreeSet::from_iter(eventual.chain([sample.schema.partition]));
    for partition in templates {
        let Some((_, component)) = partition.split_once('{') else { continue };
        let component = component.split([':', '}']).next().unwrap_or_default();
        let last = component.rsplit('_').next().unwrap_or_default();
        if TIMES.contains(&last) {
            let entity = sample.schema.entity;
            findings.push(BookFinding::GrowsByName { entity, partition, component });
        }
    }
}

/// What stands out among the index rows of a type.
fn of_rows(sample: &Sample, patterns: &[Pattern], findings: &mut Vec<BookFinding>) {
    let entity = sample.schema.entity;
    for row in sample.schema.rows.iter().filter(|row| !row.canonical) {
        let used: Vec<_> =
            patterns.iter().flat_map(queries).filter(|query| reads(query, entity, row)).collect();
        if used.is_empty() {
            let stored_bytes = sample.bytes_of_row(row.name);
            findings.push(BookFinding::UnusedRow {
                entity,
                row: row.name,
                stored_bytes,
                // No other template may begin so.
                is_purge_index: row.partition.starts_with(EXPIRY_START),
            });
            continue;
        }
        let asked = used.iter().try_fold(BTreeSet::new(), |mut asked, query| {
            asked.extend(query.select.as_ref()?.iter().map(ToString::to_string));
            // A row without a property meets no filter on it.
            let filtered = query.filter.iter().flat_map(Filter::properties);
            asked.extend(filtered.map(ToOwned::to_owned));
            Some(asked)
        });
        let Some(asked) = asked.filter(|_| row.copy == CopyKind::Full) else { continue };
        let known = |name: &String| row.properties.contains(&name.as_str());
        let properties: Vec<_> = asked.into_iter().filter(known).collect();
        if properties.len() < row.properties.len() {
            findings.push(BookFinding::PartialServes { entity, row: row.name, properties });
        }
    }
}

#[cfg(test)]
mod tests {
    /// The words that the derive's tests read too.
    const WORDS: [(&str, &[&str]); 4] = include!("../../../tests/fixtures/words.rs");

    #[test]
    fn names_of_times_are_those_of_the_derive() {
        assert_eq!(("times", &super::TIMES[..]), WORDS[0]);
    }
}
