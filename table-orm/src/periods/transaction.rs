//! Transactions in the table of one period.

use super::{Bucketed, Moment, Periods};
use crate::entity::WholePartition;
use crate::error::{Error, Result};
use crate::repo::{Transaction, TransactionScope, TransactionWith};

impl<E: Bucketed> Periods<E> {
    /// Starts a transaction in the table of the period of `time`, as
    /// [`Tables::transaction`](crate::Tables::transaction) does in the table of a type with one.
    ///
    /// All entities are of that period: one transaction is one request to one table. An entity of another period
    /// fails with [`Error::PeriodMismatch`], and nothing is sent.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # use time::{Duration, OffsetDateTime};
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{at}", bucket(month, at))]
    /// # struct Reading { sensor: String, at: OffsetDateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let readings = Tables::in_memory()?.periods::<Reading>();
    /// # let now = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// let at = |days| Reading { sensor: "roof".into(), at: now - Duration::days(days) };
    /// let roof = || readings.transaction(now, Reading::partition("roof"));
    /// roof().insert(&at(0)).insert(&at(1)).commit().await?;
    /// let two_months = roof().insert(&at(2)).insert(&at(60)).commit().await;
    /// assert!(matches!(two_months, Err(Error::PeriodMismatch(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction<'a, Q>(&self, time: impl Moment, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
    {
        Transaction::new(self.at(time).client, partition)
    }

    /// Starts a transaction that reads before it writes, in the table of the period of `time`, as
    /// [`Tables::transaction_with`](crate::Tables::transaction_with) does in the table of a type with one.
    pub fn transaction_with<'a, Q, T, F>(
        &self,
        time: impl Moment,
        partition: Q,
        function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> TransactionWith<'a, T>
    where
        Q: WholePartition,
        F: Future<Output = Result<T>> + Send + 'a,
    {
        self.try_transaction_with(time, partition, function)
    }

    /// The same by a function with an error type of the app's own, as
    /// [`Tables::try_transaction_with`](crate::Tables::try_transaction_with).
    pub fn try_transaction_with<'a, Q, T, X, F>(
        &self,
        time: impl Moment,
        partition: Q,
        function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> TransactionWith<'a, T, X>
    where
        Q: WholePartition,
        F: Future<Output = Result<T, X>> + Send + 'a,
        X: From<Error>,
    {
        TransactionWith::new(self.at(time).client, partition, function)
    }
}
