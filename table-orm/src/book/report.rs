//! The report of a book: what each pattern costs, the load of each partition, and what stands out.

use super::estimate::{Estimate, PatternClass};
use super::finding::BookFinding;
use super::known::KnownFinding;
use super::load::{PartitionLoad, loads};
use super::pattern::Pattern;
use super::prices::Prices;
use super::repeatable::repeatable;
use super::rounds::rounds;
use super::sample::Sample;
use super::usage::{queries, reads};
use crate::entity::{CopyKind, RowSchema};
use crate::layer::MeasuredPattern;
use crate::model::ACROSS_GUARD;
use serde::Serialize;

/// The rows and patterns of an app, with what they cost: [`Book::report`](super::Book::report).
///
/// `Serialize` writes it as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BookReport {
    /// The book's title.
    pub title: String,
    /// The prices it uses.
    pub prices: Prices,
    /// What stands out, and is not known.
    pub findings: Vec<BookFinding>,
    /// What stands out, and the app [knows](super::Book::known).
    pub known: Vec<KnownFinding>,
    /// The entity types.
    pub entities: Vec<EntityReport>,
    /// The patterns, in the order in which the app adds them.
    pub patterns: Vec<PatternReport>,
    /// What was measured of them, in the order in which the app adds it.
    pub measured: Vec<MeasuredPattern>,
    /// The load of the partitions that patterns name, the highest first.
    pub partitions: Vec<PartitionLoad>,
    /// Rows that all patterns together read and write in a second.
    pub rows_per_second: f64,
    /// The price of a month: requests and storage.
    pub price_per_month: f64,
}

/// An entity type with its rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EntityReport {
    /// The type's name.
    pub name: &'static str,
    /// Its table.
    pub table: &'static str,
    /// The PartitionKey's template.
    pub partition: &'static str,
    /// Its rows, and the guard rows of its unique values.
    pub rows: Vec<RowReport>,
    /// How many entities there are.
    pub entities: u64,
    /// Bytes of storage of an entity, all of its rows together.
    pub stored_bytes: u64,
    /// The price of storing all of them for a month.
    pub price_per_month: f64,
}

/// A kind of row of a type.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RowReport {
    /// Its name; of a guard row that of the unique value.
    pub name: &'static str,
    /// What it is: `canonical`, `full copy`, `partial copy` or `guard`; a row in another partition or table is a copy that
    /// `follows`.
    pub kind: &'static str,
    /// The table that holds it.
    pub table: &'static str,
    /// The template of its PartitionKey.
    pub partition: &'static str,
    /// The RowKey's template.
    pub key: &'static str,
    /// The keys of a sample: PartitionKey and RowKey.
    pub sample: Option<[String; 2]>,
    /// Bytes of storage, on average.
    pub stored_bytes: u64,
    /// The patterns that read it.
    pub patterns: Vec<String>,
}

/// What a pattern costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PatternReport {
    /// Its name.
    pub name: String,
    /// What it is for the service.
    pub class: PatternClass,
    /// Calls in a second.
    pub per_second: f64,
    /// The time in which a call must be answered, in milliseconds.
    pub within_ms: Option<u64>,
    /// Requests of a call. The service bills each.
    pub requests: u64,
    /// Those of them that are sent one after another: up to 16 reads of one call are in flight together. A `list_many`
    /// that is not collected, but read as a stream or in pages, sends more of them one after another.
    pub rounds: u64,
    /// Rows that the service reads for a call.
    pub rows_read: u64,
    /// Rows of them that match.
    pub rows_matching: u64,
    /// Rows that a call writes.
    pub rows_written: u64,
    /// Bytes of the rows' JSON that a call sends.
    pub bytes_up: u64,
    /// Bytes of the rows' JSON that it gets.
    pub bytes_down: u64,
    /// Whether the call may need more than these numbers.
    pub at_least: bool,
    /// The price of its requests in a month, at this rate all month or with the calls that
    /// [`Pattern::per_month`](super::Pattern::per_month) says.
    pub price_per_month: f64,
    /// The requests of a call as text, without the names that each call makes anew.
    pub plan: String,
}

impl BookReport {
    /// Whether a pattern may need more requests than are counted.
    pub(super) fn is_least(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.at_least)
    }

    pub(super) fn of(
        title: &str,
        prices: &Prices,
        samples: &[Sample],
        patterns: &[Pattern],
    ) -> Self {
        let estimated: Vec<_> = patterns
            .iter()
            .map(|pattern| (pattern, Estimate::of_steps(&pattern.plan, pattern.rows, samples)))
            .collect();
        let pattern_reports: Vec<_> = estimated
            .iter()
            .map(|(pattern, steps)| PatternReport::of(pattern, steps, prices))
            .collect();
        let entities: Vec<_> =
            samples.iter().map(|sample| EntityReport::of(sample, patterns, prices)).collect();
        let rows_per_second = estimated.iter().map(|(pattern, steps)| {
            pattern.calls_per_second() * Estimate::sum(steps).rows() as f64
        });
        let price = pattern_reports.iter().map(|pattern| pattern.price_per_month).sum::<f64>()
            + entities.iter().map(|entity| entity.price_per_month).sum::<f64>();
        Self {
            title: title.to_owned(),
            prices: prices.clone(),
            findings: Vec::new(),
            known: Vec::new(),
            entities,
            patterns: pattern_reports,
            measured: Vec::new(),
            partitions: loads(&estimated, samples),
            rows_per_second: rows_per_second.sum(),
            price_per_month: price,
        }
    }

    /// The report as one JSON object.
    ///
    /// # Errors
    /// When a value has no JSON form. Every value of this version has one.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }
}

/// The kind of a guard row.
const GUARD: &str = "guard";

/// What a row is.
const fn kind(row: &RowSchema) -> &'static str {
    match (row.eventual, row.copy) {
        (true, CopyKind::Full) => "full copy, follows",
        (true, CopyKind::Partial) => "partial copy, follows",
        (false, _) => row.kind(),
    }
}

impl PatternReport {
    fn of(pattern: &Pattern, steps: &[Estimate], prices: &Prices) -> Self {
        let cost = Estimate::sum(steps);
        let requests = pattern.calls_of_month() * cost.requests as f64;
        Self {
            name: pattern.name.clone(),
            class: PatternClass::of(&pattern.plan),
            per_second: pattern.calls_per_second(),
            within_ms: pattern.within.map(|time| time.as_millis() as u64),
            requests: cost.requests,
            rounds: rounds(&pattern.plan, steps),
            rows_read: cost.rows_read,
            rows_matching: cost.matching,
            rows_written: cost.rows_written,
            bytes_up: cost.bytes_up,
            bytes_down: cost.bytes_down,
            at_least: cost.at_least,
            price_per_month: requests / 10_000.0 * prices.per_10_000_transactions,
            plan: repeatable(&pattern.plan),
        }
    }
}

impl EntityReport {
    fn of(sample: &Sample, patterns: &[Pattern], prices: &Prices) -> Self {
        let schema = &sample.schema;
        let row = |name: &'static str, kind: &'static str, place: [&'static str; 3], patterns| {
            let [table, partition, key] = place;
            let is_guard = kind == GUARD;
            let rows =
                sample.rows.iter().filter(|row| row.name == name && row.is_guard == is_guard);
            let bytes: u64 = rows.clone().map(|row| row.stored_bytes).sum();
            let first = rows
                .clone()
                .next()
                .map(|row| [row.content.partition_key.clone(), row.content.row_key.clone()]);
            RowReport {
                name,
                kind,
                table,
                partition,
                key,
                sample: first,
                stored_bytes: bytes.checked_div(rows.count() as u64).unwrap_or_default(),
                patterns,
            }
        };
        let rows = schema.rows.iter().map(|own| {
            let readers = patterns
                .iter()
                .filter(|pattern| queries(pattern).any(|query| reads(query, schema.entity, own)));
            let readers = readers.map(|pattern| pattern.name.clone()).collect();
            row(own.name, kind(own), [own.table, own.partition, own.key], readers)
        });
        let guards = schema.uniques.iter().map(|own| {
            // Over all partitions, the value is in the PartitionKey.
            let place = match own.across {
                true => [own.table, own.key, ACROSS_GUARD],
                false => [own.table, schema.partition, own.key],
            };
            row(own.name, GUARD, place, Vec::new())
        });
        let bytes = sample.bytes_of_entity();
        let gib = sample.all() as f64 * bytes as f64 / f64::from(1 << 30);
        Self {
            name: schema.entity,
            table: schema.table,
            partition: schema.partition,
            rows: rows.chain(guards).collect(),
            entities: sample.all(),
            stored_bytes: bytes,
            price_per_month: gib * prices.per_gib_month,
        }
    }
}
