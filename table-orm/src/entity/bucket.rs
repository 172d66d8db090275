//! Types with a table for each period.
//!
//! Invariant: every write puts an entity into the table of its period. So the time of an entity determines its
//! table.

use super::TableEntity;
use crate::model::{Bucket, DateTime, Period, TableName};

/// How the entities of a type are spread over tables: `bucket(month, at)`.
#[derive(Debug)]
pub struct Bucketing<E> {
    bucket: Bucket,
    field: &'static str,
    time: fn(&E) -> Option<DateTime>,
}

impl<E> Clone for Bucketing<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Bucketing<E> {}

impl<E> Bucketing<E> {
    /// Tables for periods of that length, by the time in that field.
    #[doc(hidden)]
    pub const fn new(
        bucket: Bucket,
        field: &'static str,
        time: fn(&E) -> Option<DateTime>,
    ) -> Self {
        Self { bucket, field, time }
    }

    /// Returns how long its periods are.
    #[must_use]
    pub const fn bucket(&self) -> Bucket {
        self.bucket
    }

    /// The field with the time.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// The period of an entity; `None` where the service cannot store its time.
    pub fn period_of(&self, entity: &E) -> Option<Period> {
        (self.time)(entity).map(|at| Period::of(self.bucket, at))
    }
}

/// A type with a table for each period: `#[table(bucket(month, at))]`. The derive implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has one table, not one for each period",
    label = "a type without `bucket`",
    note = "add `bucket(month, at)` to its `#[table(..)]`, with the field of its time; use `tables.repo` for a \
            type with one table"
)]
pub trait Bucketed: TableEntity {}

/// An entity that belongs in the table of another period. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{entity}` does not belong in the table `{table}`: its `{field}` is in the period {period}; nothing was \
     written: write a new entity through `Periods`, which finds its table; to change the time of a stored one, \
     insert it with its new time, then delete the old one"
)]
#[non_exhaustive]
pub struct PeriodMismatch {
    /// The entity's type name.
    pub entity: &'static str,
    /// The table of the call.
    pub table: TableName,
    /// The field with the time.
    pub field: &'static str,
    /// The period of the entity.
    pub period: Period,
}

/// Whether that is the table of the entity's period. The digits at its end are those of the period: no base
/// name ends with a digit.
pub(crate) fn check_period<E: TableEntity>(
    entity: &E,
    table: &TableName,
) -> Result<(), PeriodMismatch> {
    if const { E::BUCKET.is_none() } {
        return Ok(());
    }
    let Some(bucketing) = E::BUCKET else { return Ok(()) };
    // Where the time cannot be stored, the row's key or property says so.
    let Some(period) = bucketing.period_of(entity) else { return Ok(()) };
    let name = table.as_str();
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if name[base.len()..] == period.to_string() {
        return Ok(());
    }
    let (table, field) = (table.clone(), bucketing.field);
    Err(PeriodMismatch { entity: E::NAME, table, field, period })
}
