//! Types with a table for each period whose stored keys change.
//!
//! Invariant: an entity has one period in both forms. So its old row, its parcel and its new rows are in the tables of that
//! period.

use super::{Bucketed, Moment, Period, Periods};
use crate::entity::TableEntity as _;
use crate::error::Result;
use crate::migrate::{Migrates, Migrating, StoredForm};
use crate::model::{DateTime, TableName};
use crate::plan::Connection;

/// The tables of a type whose stored keys change, two for each period, or one that both forms share:
/// [`Tables::migrating_periods`](crate::Tables::migrating_periods).
///
/// Each period migrates by itself, by the calls of [`Migrating`] on [`at`](Self::at). Its entities are in their old form, in
/// their new one, or on their way. A table that does not exist is an empty one, and the first write creates it.
#[derive(Debug)]
pub struct MigratingPeriods<E: Migrates<Old: Bucketed> + Bucketed> {
    /// The tables of the old form.
    old: Periods<E::Old>,
    /// The tables of the new form, over a store that creates tables of either form.
    new: Periods<E>,
    form: StoredForm,
}

impl<E: Migrates<Old: Bucketed> + Bucketed> Clone for MigratingPeriods<E> {
    fn clone(&self) -> Self {
        Self { old: self.old.clone(), new: self.new.clone(), form: self.form }
    }
}

impl<E: Migrates<Old: Bucketed> + Bucketed> MigratingPeriods<E> {
    pub(crate) fn new(connection: &Connection) -> Result<Self> {
        let old = Periods::new(connection, TableName::checked(E::Old::TABLE));
        let new = Periods::new(&old.connection, TableName::checked(E::TABLE));
        let periods = Self { old, new, form: StoredForm::New };
        // What fails for one period fails for each.
        periods.at(DateTime::MIN)?;
        Ok(periods)
    }

    /// The same tables, whose clients insert that form. [`StoredForm::New`] unless set.
    #[must_use]
    pub fn inserting(self, form: StoredForm) -> Self {
        Self { form, ..self }
    }

    /// The entities of the period of `time`: an instant, or a [`Period`]. A write of an entity of another period fails with
    /// [`Error::PeriodMismatch`](crate::Error::PeriodMismatch).
    ///
    /// # Errors
    /// As [`Tables::migrating`](crate::Tables::migrating).
    pub fn at(&self, time: impl Moment) -> Result<Migrating<E>> {
        let time = time.moment().unwrap_or(DateTime::MIN);
        let period = Period::of(Periods::<E>::BUCKETING.bucket(), time);
        let (old, new) = (period.table(&self.old.base), period.table(&self.new.base));
        Ok(Migrating::new(&self.new.connection, old, new)?.inserting(self.form))
    }

    /// The entities of the period of that one.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn of(&self, entity: &E) -> Result<Migrating<E>> {
        match Periods::<E>::BUCKETING.period_of(entity) {
            Some(period) => self.at(period),
            // A write fails with the error of the time.
            None => self.at(DateTime::MIN),
        }
    }

    /// The periods that have a table of either form, oldest first. Two requests for each 1000 tables of the account, or one
    /// if both forms share their tables.
    ///
    /// # Errors
    /// When the store cannot be reached or read.
    pub async fn existing(&self) -> Result<Vec<Period>> {
        let mut periods = self.new.existing().await?;
        if !self.old.base.is(&self.new.base) {
            periods.extend(self.old.existing().await?);
            periods.sort();
            periods.dedup();
        }
        Ok(periods)
    }
}
