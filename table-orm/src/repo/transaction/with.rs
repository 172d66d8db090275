//! A transaction whose writes depend on what it reads.

use super::scope::TransactionScope;
use super::writes::{Writes, partition_key};
use crate::entity::{Row, RowOf, TableEntity, WholePartition};
use crate::error::{Error, Result};
use crate::eventual::{Settling, settling_methods};
use crate::key::KeyError;
use crate::plan::{Attempts, CanonicalKey, Plan, RetryLimits, Step, TableClient};
use crate::repo::Repo;
use crate::sync::Permit;
use futures_core::future::BoxFuture;
use std::fmt;
use std::time::Duration;

impl<E: TableEntity> Repo<E> {
    /// Starts a transaction that reads before it writes, in this table. Otherwise as
    /// [`Tables::transaction_with`](crate::Tables::transaction_with).
    ///
    /// ```
    /// # use table_orm::{EntityKeys, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let stock = Tables::in_memory()?.repo_in::<Item>("stock2026".parse()?);
    /// stock.create_table().await?;
    /// let tea = Item { shop: "north".into(), sku: "tea".into(), count: 3 };
    /// let inserted = stock.transaction_with(tea.partition(), async |tx| {
    ///     let absent = tx.get(tea.key()).await?.is_none();
    ///     if absent {
    ///         tx.insert(&tea);
    ///     }
    ///     Ok(absent)
    /// });
    /// assert!(inserted.await?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction_with<'a, Q, T, F>(
        &self,
        partition: Q,
        function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> TransactionWith<'a, T>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
        F: Future<Output = Result<T>> + Send + 'a,
    {
        TransactionWith::new(self.client.clone(), partition, function)
    }

    /// Starts a transaction that reads before it writes, in this table, by a function with an error type of
    /// the app's own. Otherwise as [`Tables::try_transaction_with`](crate::Tables::try_transaction_with).
    ///
    /// ```
    /// # use table_orm::{EntityKeys, Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// #[derive(Debug, thiserror::Error)]
    /// enum OrderError {
    ///     #[error("sold out")]
    ///     SoldOut,
    ///     #[error(transparent)]
    ///     Store(#[from] Error),
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// let tea = Item { shop: "north".into(), sku: "tea".into(), count: 0 };
    /// stock.insert(&tea).await?;
    /// let taken = stock.try_transaction_with(tea.partition(), async |tx| {
    ///     let stored = tx.load(tea.key()).await?;
    ///     let mut item = stored.filter(|item| item.count > 0).ok_or(OrderError::SoldOut)?;
    ///     item.count -= 1;
    ///     tx.save(item);
    ///     Ok::<_, OrderError>(())
    /// });
    /// assert!(matches!(taken.await, Err(OrderError::SoldOut)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_transaction_with<'a, Q, T, X, F>(
        &self,
        partition: Q,
        function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> TransactionWith<'a, T, X>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
        F: Future<Output = Result<T, X>> + Send + 'a,
        X: From<Error>,
    {
        TransactionWith::new(self.client.clone(), partition, function)
    }
}

/// The function of the app: one call is one attempt.
type Function<'a, T, X> = Box<dyn FnMut(TransactionScope) -> Attempt<'a, T, X> + Send + 'a>;
type Attempt<'a, T, X> = BoxFuture<'a, Result<T, X>>;

/// A transaction that reads before it writes: `.await` calls the function, sends its writes, and returns
/// what it returned; `.plan()` shows the request.
///
/// # Errors
/// - The error of the function. Nothing is sent then.
/// - [`Error::Conflict`], [`Error::NotFound`] or [`Error::AlreadyExists`] when every attempt lost to another
///   writer, or when the function does not read again what it writes, such as an entity loaded outside of it.
/// - [`Error::AlreadyExists`] when the function inserts an entity that it read.
/// - Otherwise as [`Transaction::commit`](super::Transaction::commit).
///
/// Nothing is written, except that after [`Error::Ambiguous`], and without a retry layer after
/// [`Error::Unavailable`], the writes may have taken effect. They are not sent again.
///
/// ```
/// # use table_orm::{EntityKeys, Error, TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
/// # struct Item { shop: String, sku: String, count: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let stock = tables.repo::<Item>();
/// # stock.create_table().await?;
/// let tea = stock.insert_loaded(&Item { shop: "north".into(), sku: "tea".into(), count: 3 }).await?;
/// let sell = tables.transaction_with(tea.partition(), async |tx| {
///     let mut tea = tx.load(tea.key()).await?.unwrap();
///     tea.count -= 1;
///     tx.save(tea);
///     Ok(tx.len())
/// });
/// let sell = sell.retry_for(std::time::Duration::from_secs(2)).attempts(5);
/// assert!(sell.plan()?.to_string().contains("for up to 2s, in at most 5 attempts"));
/// assert_eq!(sell.await?, 1);
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
pub struct TransactionWith<'a, T, X = Error> {
    client: TableClient,
    table: &'static str,
    partition_key: Result<String, KeyError>,
    function: Function<'a, T, X>,
    limits: RetryLimits,
    settling: Settling,
}

impl<T, X> fmt::Debug for TransactionWith<'_, T, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partition_key = &self.partition_key;
        let mut out = f.debug_struct("TransactionWith");
        out.field("partition_key", partition_key).finish_non_exhaustive()
    }
}

impl<'a, T, X> TransactionWith<'a, T, X> {
    pub(crate) fn new<Q, F>(
        client: TableClient,
        partition: Q,
        mut function: impl FnMut(TransactionScope) -> F + Send + 'a,
    ) -> Self
    where
        Q: WholePartition,
        F: Future<Output = Result<T, X>> + Send + 'a,
    {
        Self {
            client,
            table: <Q::Row as Row>::Entity::TABLE,
            partition_key: partition_key(partition),
            function: Box::new(move |scope| Box::pin(function(scope))),
            limits: RetryLimits::default(),
            settling: Settling::default(),
        }
    }

    /// Sets how long it starts again when other writers change what it read, instead of
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME). With zero it makes one attempt.
    pub const fn retry_for(mut self, time: Duration) -> Self {
        self.limits.time = time;
        self
    }

    /// Sets the most attempts within that time; 0 counts as 1.
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.limits.set_attempts(attempts);
        self
    }

    settling_methods!();

    /// Returns what it will send after the reads of the function, without calling it.
    ///
    /// # Errors
    /// When the PartitionKey cannot hold one of the values.
    pub fn plan(&self) -> Result<Plan> {
        let step = Step::CommitReads {
            table: self.client.table.clone(),
            partition_key: self.partition_key.clone()?,
            attempts: self.limits.attempts,
            retry_for: self.limits.time,
        };
        Ok(Plan { steps: [step].into_iter().chain(self.client.delete_values()).collect() })
    }

    /// Calls the function, and sends its writes in one transaction.
    async fn run(mut self) -> Result<T, X>
    where
        X: From<Error>,
    {
        let partition_key = self.partition_key.map_err(Error::from)?;
        let lock = CanonicalKey { partition_key: partition_key.clone(), row_key: String::new() };
        let (connection, table) = (&*self.client.connection, &self.client.table);
        // Calls of this process take turns only where they have conflicts: they may write other entities.
        let mut permit = None;
        let mut attempts = Attempts::begin(connection, self.limits);
        if connection.is_locked(table, &lock) {
            permit = attempts.in_time(connection.write_lock(table, &lock)).await.flatten();
            attempts.resume();
        }
        let mut before = None;
        loop {
            let partition_key = Ok(partition_key.clone());
            let mut writes = Writes::in_partition(self.client.clone(), self.table, partition_key);
            writes.settling = self.settling.clone();
            let scope = TransactionScope::new(writes);
            let value = (self.function)(scope.share()).await?;
            let (error, failed) = match scope.commit().await {
                Ok(()) => return Ok(value),
                Err(failed) => failed,
            };
            let Some(failed) = failed.filter(|failed| !failed.is_stale(before.as_ref())) else {
                return Err(error.into());
            };
            if !attempts.next().await {
                return Err(error.into());
            }
            before = Some(failed);
            match &permit {
                Some(permit) => Permit::goes_on(permit),
                None => {
                    let locked = connection.write_lock(table, &lock);
                    let Some(locked) = attempts.in_time(locked).await else {
                        return Err(error.into());
                    };
                    permit = locked;
                    attempts.resume();
                }
            }
        }
    }
}

impl<'a, T: Send + 'a, X: From<Error> + Send + 'a> IntoFuture for TransactionWith<'a, T, X> {
    type Output = Result<T, X>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
