//! Profiles of generated rows.

mod advice;
mod bounds;
mod counts;
mod text;

use super::known_type::KnownType;
use super::report::ProfileReport;
use super::tally::Tally;
use crate::entity::DynamicEntity;
use crate::model::{DateTime, TableName};
use crate::scan::ScanReport;

/// An instant so many hours after the first.
fn hour(hours: u64) -> DateTime {
    DateTime::from_ticks(638_000_000_000_000_000 + hours as i64 * 36_000_000_000).unwrap()
}

/// A row that was written at that hour.
fn row(partition_key: impl Into<String>, row_key: impl Into<String>, hours: u64) -> DynamicEntity {
    let timestamp = Some(hour(hours));
    DynamicEntity { timestamp, ..DynamicEntity::new(partition_key, row_key) }
}

/// Counts rows in key order.
fn tally(rows: impl IntoIterator<Item = DynamicEntity>, types: Vec<KnownType>) -> Tally {
    let mut tally = Tally::new(TableName::new("things").unwrap(), types, 10, false);
    rows.into_iter().for_each(|row| tally.add(&row).unwrap());
    tally
}

/// The profile of rows in key order, of no known type.
fn profile(rows: impl IntoIterator<Item = DynamicEntity>) -> ProfileReport {
    tally(rows, Vec::new()).finish(&ScanReport::default(), 0, true)
}
