//! One [`Store`] over several storage accounts.
//!
//! [`Accounts`] sends each request to the account of its table and partition. A transaction is of one
//! partition, so it is of one account. A query over partitions asks every account, and merges the
//! rows in key order.
//!
//! ```
//! use std::sync::Arc;
//! use table_orm::accounts::Accounts;
//! use table_orm::embedded::EmbeddedStore;
//! use table_orm::store::Store;
//! use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let first: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory()?);
//! let second: Arc<dyn Store> = Arc::new(EmbeddedStore::in_memory()?);
//! let tables = Tables::new(Accounts::by_partition([first, second])?);
//! let orders = TableName::new("orders")?;
//! tables.create(&orders).await?; // in both
//! for shop in ["north", "south", "west"] {
//!     tables.table(orders.clone()).insert(&DynamicEntity::new(shop, "1")).await?; // in one
//! }
//! let rows = tables.scan(orders, ScanPermit::because("an example")).collect().await?;
//! assert_eq!(rows.len(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - A row is written to one account and read from that account: a row that lies in another one is
//!   as absent.
//! - The account of a partition depends on its PartitionKey only, and in the same way in every
//!   version of this crate. With [`Accounts::growing`] it depends on the map of slots, too.

mod error;
mod merge;
mod position;
mod route;
mod tables;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub use error::AccountsError;

use crate::model::{DateTime, ETag, Metadata, TableName};
use crate::query::{RowQuery, Span};
use crate::store::{Batch, Operation, Page, Store, StoreError, StoredRow};
use async_trait::async_trait;
use position::Token;
use route::Route;
use std::sync::Arc;

/// The most accounts of one store.
pub const MAX_ACCOUNTS: usize = 64;

type Answer<T> = Result<T, StoreError>;

/// Several storage accounts as one [`Store`]. Clones are the same store.
///
/// The accounts keep their order for good: the first is account 0. Layers around an account, such as
/// a [`Rate`](crate::layer::Rate), limit that account; layers around `Accounts` limit all together.
///
/// | Made by | Where a row is |
/// |---|---|
/// | [`by_table`](Self::by_table) | a function of the app names the account of each table |
/// | [`by_partition`](Self::by_partition) | a hash of the PartitionKey names it |
/// | [`by`](Self::by) | a function of the app names the account of each partition |
#[derive(Debug, Clone)]
pub struct Accounts {
    stores: Arc<[Arc<dyn Store>]>,
    route: Route,
}

impl Accounts {
    /// The accounts, with each table whole in the account that `account` names: 0 for the first. The
    /// function must name the same account at every call and in every process.
    ///
    /// # Errors
    /// There is no account, or there are more than [`MAX_ACCOUNTS`], or they hide different properties.
    pub fn by_table(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        account: impl Fn(&TableName) -> usize + Send + Sync + 'static,
    ) -> Result<Self, AccountsError> {
        Self::new(stores, Route::Table(Arc::new(account)))
    }

    /// The accounts, with each partition in the account that a hash of its PartitionKey names: that of
    /// all tables with this PartitionKey. The number of accounts is fixed from the first row on.
    ///
    /// # Errors
    /// As [`by_table`](Self::by_table).
    pub fn by_partition(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
    ) -> Result<Self, AccountsError> {
        Self::new(stores, Route::Slots)
    }

    /// The accounts, with each partition in the account that `account` names for the table and
    /// PartitionKey. The function must name the same account at every call and in every process: a row
    /// that was written where it is not looked for is as absent.
    ///
    /// # Errors
    /// As [`by_table`](Self::by_table).
    pub fn by(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        account: impl Fn(&TableName, &str) -> usize + Send + Sync + 'static,
    ) -> Result<Self, AccountsError> {
        Self::new(stores, Route::Partition(Arc::new(account)))
    }

    fn new(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        route: Route,
    ) -> Result<Self, AccountsError> {
        let stores: Arc<[Arc<dyn Store>]> = stores.into_iter().collect();
        if !(1..=MAX_ACCOUNTS).contains(&stores.len()) {
            return Err(AccountsError::Number(stores.len()));
        }
        let hidden = stores.iter().map(|store| store.hidden_property().map(str::to_owned));
        if hidden.collect::<std::collections::BTreeSet<_>>().len() > 1 {
            return Err(AccountsError::HiddenProperties);
        }
        Ok(Self { stores, route })
    }

    /// The number of the account that has the partition.
    fn place(&self, table: &TableName, partition_key: &str) -> Answer<usize> {
        self.route.account(self.stores.len(), table, partition_key)
    }

    fn store(&self, table: &TableName, partition_key: &str) -> Answer<&dyn Store> {
        Ok(&*self.stores[self.place(table, partition_key)?])
    }

    /// The accounts that have rows of the table.
    fn stores_of(&self, table: &TableName) -> Answer<&[Arc<dyn Store>]> {
        Ok(match self.route.account_of_table(self.stores.len(), table)? {
            Some(account) => &self.stores[account..=account],
            None => &self.stores,
        })
    }

    /// A page of rows of many partitions.
    async fn merged(&self, query: &RowQuery) -> Answer<Page> {
        let mut token = Token::of(query.continuation.as_ref(), self.stores.len())?;
        let pages = merge::fetch(&self.stores, query, &token.positions).await?;
        let mut places = Ok(());
        let page = merge::merge(query, pages, &mut token, |account, row| {
            let place = self.place(&query.table, &row.partition_key);
            place.map_or_else(
                |error| {
                    places = Err(error);
                    false
                },
                |place| place == account,
            )
        });
        places.and(page)
    }
}

#[async_trait]
impl Store for Accounts {
    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        // Without an account, the request fails with the reason.
        let store = self.store(table, partition_key).unwrap_or(&*self.stores[0]);
        store.commit_bytes(table, partition_key, operations)
    }

    /// Creates the table in every account that can have rows of it. Some accounts may have it from a call
    /// that failed before: it is made in the others. It exists already if all have it.
    async fn create_table(&self, table: &TableName) -> Answer<()> {
        tables::create(self.stores_of(table)?, table).await
    }

    /// Deletes the table in every account. Some accounts may have lost it in a call that failed before: it
    /// is deleted in the others. It is absent if no account has it.
    async fn delete_table(&self, table: &TableName) -> Answer<()> {
        tables::delete(self.stores_of(table)?, table).await
    }

    /// Lists the tables that some account has.
    async fn list_tables(&self) -> Answer<Vec<TableName>> {
        let tables = tables::list(&self.stores).await?;
        let is_here = |account, table: &TableName| {
            let place = self.route.account_of_table(self.stores.len(), table);
            place.is_ok_and(|place| place.is_none_or(|place| place == account))
        };
        Ok(tables::union(tables, is_here))
    }

    fn hidden_property(&self) -> Option<&str> {
        self.stores[0].hidden_property()
    }

    /// The earliest of the times of all accounts, once each has answered.
    fn service_time(&self) -> Option<DateTime> {
        let times: Option<Vec<_>> = self.stores.iter().map(|store| store.service_time()).collect();
        times?.into_iter().min()
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Answer<Option<StoredRow>> {
        let store = self.store(table, partition_key)?;
        store.get(table, partition_key, row_key, select, metadata).await
    }

    async fn query(&self, query: &RowQuery) -> Answer<Page> {
        if let Span::Exact(partition_key) = &query.keys.partition {
            return self.store(&query.table, partition_key)?.query(query).await;
        }
        match self.stores_of(&query.table)? {
            [only] => only.query(query).await,
            _ => self.merged(query).await,
        }
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Answer<Option<ETag>> {
        self.store(table, partition_key)?.write(table, partition_key, operation).await
    }

    async fn commit(&self, table: &TableName, transaction: Batch) -> Answer<Vec<Option<ETag>>> {
        self.store(table, &transaction.partition_key)?.commit(table, transaction).await
    }
}
