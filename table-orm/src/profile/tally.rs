//! The counters of a profile, row by row.
//!
//! Invariant: each row is counted once, in each of the parts.

use super::components::Components;
use super::distinct::DistinctCount;
use super::kinds::Kinds;
use super::known_type::KnownType;
use super::partitions::Partitions;
use super::properties::Properties;
use super::report::{ProfileReport, SizeProfile};
use super::rules::advice;
use super::sizes::Sizes;
use crate::entity::DynamicEntity;
use crate::error::Result;
use crate::model::{DateTime, TableName, entity_size, order};
use crate::scan::ScanReport;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The counters.
pub(super) struct Tally {
    table: TableName,
    rows: u64,
    partitions: Partitions,
    kinds: Kinds,
    components: Components,
    row_keys: DistinctCount,
    /// `None` where only keys are read.
    sizes: Option<Sizes>,
    properties: Properties,
    written: Option<(DateTime, DateTime)>,
}

impl Tally {
    pub fn new(table: TableName, types: Vec<KnownType>, top: usize, keys_only: bool) -> Self {
        let kinds = Kinds::new(types, &table);
        Self {
            rows: 0,
            partitions: Partitions::new(top),
            components: kinds.components(),
            kinds,
            row_keys: DistinctCount::default(),
            sizes: (!keys_only).then(Sizes::new),
            properties: Properties::default(),
            written: None,
            table,
        }
    }

    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The number of partitions so far.
    pub fn partitions(&self) -> u64 {
        self.partitions.count()
    }

    /// Adds the next row in key order.
    ///
    /// # Errors
    /// When it comes after a later row.
    pub fn add(&mut self, row: &DynamicEntity) -> Result<()> {
        let kind = self.kinds.find(row, &self.table);
        let (mut bytes, is_helper) = (0, self.kinds.is_helper(kind));
        if let Some(sizes) = &mut self.sizes {
            let key_units = order::len(&row.partition_key) + order::len(&row.row_key);
            let mut own = 0;
            for (name, value) in &row.properties {
                own += self.properties.add(name, value, (kind, is_helper));
            }
            bytes = entity_size(key_units, own) as u64;
            sizes.add(bytes);
        }
        self.partitions.add(row, bytes, is_helper)?;
        self.kinds.add(kind, bytes, row.timestamp);
        self.components.add(kind, &row.partition_key, &row.row_key);
        if !self.row_keys.is_over() {
            let mut hasher = DefaultHasher::new();
            row.row_key.hash(&mut hasher);
            self.row_keys.add(hasher.finish());
        }
        if let Some(written) = row.timestamp {
            let (first, last) = self.written.unwrap_or((written, written));
            self.written = Some((first.min(written), last.max(written)));
        }
        self.rows += 1;
        Ok(())
    }

    /// How many partitions are sampled and listed, and how many kinds and names are kept.
    #[cfg(test)]
    pub fn kept(&self) -> (usize, usize, usize, usize) {
        let (sampled, listed) = self.partitions.kept();
        (sampled, listed, self.kinds.rows().len(), self.properties.kept())
    }

    /// The report, with what the scan has cost.
    pub fn finish(self, scan: &ScanReport, unreadable: u64, is_whole: bool) -> ProfileReport {
        let (partitions, write_order) = self.partitions.finish(self.sizes.is_some());
        let (name_bytes, other_properties) = (self.properties.name_bytes, self.properties.others);
        let mut report = ProfileReport {
            table: self.table.as_str().to_owned(),
            is_whole,
            rows: self.rows,
            unreadable,
            requests: scan.requests,
            seconds: scan.elapsed.as_secs_f64(),
            oldest: self.written.map(|(oldest, _)| oldest.to_string()),
            newest: self.written.map(|(_, newest)| newest.to_string()),
            partitions,
            properties: self
                .properties
                .finish(&self.kinds.rows(), |name| self.kinds.declare_property(name)),
            kinds: self.kinds.finish(),
            row_keys: self.row_keys.count(),
            components: self.components.finish(),
            sizes: self.sizes.map(|sizes| SizeProfile {
                bytes: sizes.bytes,
                name_bytes,
                row: sizes.sketch.percentiles(),
                histogram: sizes.buckets(),
            }),
            other_properties,
            write_order,
            advice: Vec::new(),
        };
        report.advice = advice(&report, self.written.map(|(_, newest)| newest));
        report
    }
}
