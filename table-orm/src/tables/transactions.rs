//! Transactions over entities of several types, and sequences of numbers.

use super::Tables;
use crate::entity::{Row, WholePartition};
use crate::error::{Error, Result};
use crate::repo::{Sequence, Transaction, TransactionScope, TransactionWith};

impl Tables {
    /// Starts a transaction: writes of entities of one partition, of one or several types, which
    /// take effect all or not at all.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
    /// # struct Reading { sensor: String, day: u32, celsius: f64 }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Reading>().create_table().await?;
    /// let reading = |day| Reading { sensor: "roof".into(), day, celsius: 20.5 };
    /// let roof = tables.transaction(Reading::partition("roof"));
    /// roof.insert(&reading(1)).insert(&reading(2)).commit().await?;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn transaction<'a, Q>(&self, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
    {
        Transaction::new(self.repo::<<Q::Row as Row>::Entity>().client, partition)
    }

    /// Starts a transaction that reads before it writes. `function` reads entities of one partition through
    /// the scope, and adds writes. One request sends them, and succeeds only if every entity that was read is
    /// unchanged.
    ///
    /// An entity that was read as absent is checked only if the transaction inserts it. An `upsert` or
    /// `insert_or_merge` of it is sent as an insert.
    ///
    /// When another writer changed such an entity in between, the call waits and calls `function` again, for up
    /// to [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME) or the time set by
    /// [`retry_for`](TransactionWith::retry_for). So `function` may run several times. It must do nothing that
    /// may happen only once, and must read every entity that it writes. It may borrow, but a counter that it
    /// changes needs an atomic. While one call repeats after a conflict, other calls of that partition wait, in
    /// this `Tables` and its clones.
    ///
    /// Cost: the reads of the function and one transaction, for each attempt. An entity that is read and not
    /// written takes one operation and gets a new version. Without writes, nothing is sent after the reads,
    /// which may then be of different moments.
    ///
    /// ```
    /// use table_orm::{Error, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{team}", row = "ISSUE:{number:05}")]
    /// struct Issue { team: String, number: u32, comments: u32, closed: bool }
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "issues", partition = "{team}", row = "COMMENT:{number:05}__{id:05}")]
    /// struct Comment { team: String, number: u32, id: u32, text: String }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Issue>().create_table().await?;
    /// # let issue = Issue { team: "core".into(), number: 1, comments: 0, closed: false };
    /// # tables.repo::<Issue>().insert(&issue).await?;
    /// let core = Issue::partition("core");
    /// let comment = tables.transaction_with(&core, async |tx| {
    ///     let Some(mut issue) = tx.load(core.row().number(1)).await? else { return Ok(None) };
    ///     issue.comments += 1;
    ///     let id = issue.comments;
    ///     tx.save(issue);
    ///     tx.insert(&Comment { team: "core".into(), number: 1, id, text: "Yes".into() });
    ///     Ok(Some(id))
    /// });
    /// assert_eq!(comment.await?, Some(1));
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
        F: Future<Output = Result<T>> + Send + 'a,
    {
        self.try_transaction_with(partition, function)
    }

    /// Does the same as [`transaction_with`](Self::transaction_with), with a function that has an error type of
    /// the app's own. If the function fails, the call returns its error and writes nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "accounts", partition = "{owner}", row = "{number:04}")]
    /// # struct Account { owner: String, number: u16, cents: i64 }
    /// #[derive(Debug, thiserror::Error)]
    /// enum TransferError {
    ///     #[error("there is no such account")]
    ///     NoAccount,
    ///     #[error("the account has not enough money")]
    ///     NotEnough,
    ///     #[error(transparent)]
    ///     Table(#[from] table_orm::Error),
    /// }
    ///
    /// async fn transfer(tables: &Tables, from: u16, to: u16, cents: i64) -> Result<(), TransferError> {
    ///     let ann = Account::partition("ann");
    ///     let transfer = tables.try_transaction_with(&ann, async |tx| {
    ///         let mut from = tx.load(ann.row().number(from)).await?.ok_or(TransferError::NoAccount)?;
    ///         let mut to = tx.load(ann.row().number(to)).await?.ok_or(TransferError::NoAccount)?;
    ///         from.cents -= cents;
    ///         to.cents += cents;
    ///         if from.cents < 0 {
    ///             return Err(TransferError::NotEnough);
    ///         }
    ///         tx.save(from);
    ///         tx.save(to);
    ///         Ok(())
    ///     });
    ///     transfer.await
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), TransferError> {
    /// # let tables = Tables::in_memory()?;
    /// # let accounts = tables.repo::<Account>();
    /// # accounts.create_table().await?;
    /// # for (number, cents) in [(1, 500), (2, 0)] {
    /// #     accounts.insert(&Account { owner: "ann".into(), number, cents }).await?;
    /// # }
    /// transfer(&tables, 1, 2, 200).await?;
    /// assert!(matches!(transfer(&tables, 1, 2, 301).await, Err(TransferError::NotEnough)));
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
        F: Future<Output = Result<T, X>> + Send + 'a,
        X: From<Error>,
    {
        TransactionWith::new(self.repo::<<Q::Row as Row>::Entity>().client, partition, function)
    }

    /// Returns the sequence of that name in a partition: numbers that are given once. Sends nothing.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "{number:08}")]
    /// # struct Order { shop: String, number: u32, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.repo::<Order>().create_table().await?;
    /// let numbers = tables.sequence(Order::partition("north"), "orders");
    /// let number = numbers.next().await? as u32;
    /// tables.repo().insert(&Order { shop: "north".into(), number, cents: 900 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sequence<Q: WholePartition>(&self, partition: Q, name: impl Into<String>) -> Sequence {
        Sequence::of_partition(
            &self.repo::<<Q::Row as Row>::Entity>().client,
            partition,
            name.into(),
        )
    }
}
