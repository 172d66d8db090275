//! One [`Store`] over several storage accounts.
//!
//! [`Accounts`] sends each request to the account of its table and partition. A transaction is in one partition, so
//! it is in one account. A query over partitions asks every account, and merges the rows in key order.
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
//! - A row is written to one account and read from that account. Reads do not see a row in another one.
//! - With [`Accounts::by_partition`], the account of a partition depends on its PartitionKey only, in
//!   the same way in every version of this crate. With [`Accounts::growing`] it depends on the map of
//!   slots, too; with the others, on the app's function.

mod error;
mod growing;
mod merge;
mod position;
mod route;
mod tables;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;

pub use error::AccountsError;
pub use growing::GrowReport;

use crate::model::{DateTime, ETag, MAX_TRANSACTION_OPERATIONS, Metadata, TableName};
use crate::query::{RowQuery, Span};
use crate::store::{Backend, Batch, Operation, Page, Store, StoreError, StoredRow};
use async_trait::async_trait;
use growing::Growing;
use position::{Position, Token};
use route::Route;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most accounts of one store.
pub const MAX_ACCOUNTS: usize = 64;

type Answer<T> = Result<T, StoreError>;

/// Several storage accounts as one [`Store`]. Clones are the same store.
///
/// The accounts keep their order for good: the first is account 0. Layers around an account, such as
/// a [`RateLimit`](crate::layer::RateLimit), limit that account; layers around `Accounts` limit all together.
///
/// | Made by | Where a row is |
/// |---|---|
/// | [`by_table`](Self::by_table) | a function of the app names the account of each table |
/// | [`by_partition`](Self::by_partition) | a hash of the PartitionKey names it |
/// | [`by`](Self::by) | a function of the app names the account of each partition |
/// | [`growing`](Self::growing) | a map names the account of each of 1,024 slots of PartitionKeys, and [`grow`](Self::grow) changes it |
#[derive(Debug, Clone)]
pub struct Accounts {
    stores: Arc<[Arc<dyn Store>]>,
    places: Places,
}

/// How the account of a row is found.
#[derive(Debug, Clone)]
enum Places {
    Fixed(Route),
    Growing(Arc<Growing>),
}

impl Accounts {
    /// Makes a store that keeps each table whole in the account that `account` names: 0 for the first. The
    /// function must name the same account at every call and in every process.
    ///
    /// # Errors
    /// There is no account, or there are more than [`MAX_ACCOUNTS`], or one `Arc` is there twice, or they hide
    /// different properties.
    pub fn by_table(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        account: impl Fn(&TableName) -> usize + Send + Sync + 'static,
    ) -> Result<Self, AccountsError> {
        Self::fixed(stores, Route::Table(Arc::new(account)))
    }

    /// Makes a store that keeps each partition in the account that a hash of its PartitionKey names: the
    /// same account in all tables. The number of accounts is fixed from the first row on.
    ///
    /// # Errors
    /// As [`by_table`](Self::by_table).
    pub fn by_partition(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
    ) -> Result<Self, AccountsError> {
        Self::fixed(stores, Route::Slots)
    }

    /// Makes a store that keeps each partition in the account that `account` names for the table and
    /// PartitionKey. The function must name the same account at every call and in every process:
    /// otherwise reads miss rows that are stored.
    ///
    /// # Errors
    /// As [`by_table`](Self::by_table).
    pub fn by(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        account: impl Fn(&TableName, &str) -> usize + Send + Sync + 'static,
    ) -> Result<Self, AccountsError> {
        Self::fixed(stores, Route::Partition(Arc::new(account)))
    }

    /// Makes a store to which you can add accounts, at the end of the list, while clients read and write:
    /// [`grow`](Self::grow). The table `map` of the first account holds the map; the first request makes it,
    /// for the accounts of this list. Each account has a table of that name, and no app uses it.
    ///
    /// What it costs, beside a point query of the map every 10 seconds:
    /// - a transaction carries one more operation, so it has at most 99 of its own, and a single write is
    ///   a transaction of two;
    /// - a partition has two more rows, hidden from each reader, with the RowKeys `ACC:MADE` and
    ///   `ACC:OPEN`, and one in the table of the map; the first write of a partition takes three requests more,
    ///   and the first of a slot in an account five;
    /// - a query counts the hidden rows for its page, so a page has fewer rows than it could have.
    ///
    /// Every process must use the accounts in this way, and from the first row on. RowKeys that begin with
    /// `ACC:` are refused. Timers are tokio's.
    ///
    /// # Errors
    /// As [`by_table`](Self::by_table).
    pub fn growing(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        map: TableName,
    ) -> Result<Self, AccountsError> {
        let stores = checked(stores)?;
        let places = Places::Growing(Arc::new(Growing::new(Arc::clone(&stores), map)));
        Ok(Self { stores, places })
    }

    /// Moves slots to the accounts that the list has and the map has not, while clients read and write.
    /// First give each process the longer list. A process with the shorter list fails from then on, and
    /// writes nothing to a wrong place.
    ///
    /// Only the slots of the new accounts move: a third account takes a third of the slots. The call waits for
    /// 66 seconds, then moves a few slots at a time. Writes to a partition fail with `ServerBusy` while its rows
    /// are copied, and [`Retry`](crate::layer::Retry) waits for that. An entity that moves gets another ETag, so
    /// a writer that loaded it before gets `Conflict`. Until the call ends, a read of a slot that moves takes two
    /// requests or three, and a query over partitions one more for each partition that it meets on its way.
    ///
    /// The next call, from any process, completes a call that failed or whose process ended. Several calls may run
    /// at once. Until it is completed, writes to the partitions that were under way fail. Deleting a table fails
    /// with `ServerBusy` while accounts grow: the fences of its partitions would go with it.
    ///
    /// # Errors
    /// The accounts do not grow: [`AccountsError::Fixed`]. A request failed: [`AccountsError::Store`]; call
    /// again.
    pub async fn grow(&self) -> Result<GrowReport, AccountsError> {
        match &self.places {
            Places::Fixed(_) => Err(AccountsError::Fixed),
            Places::Growing(growing) => growing.grow().await,
        }
    }

    fn fixed(
        stores: impl IntoIterator<Item = Arc<dyn Store>>,
        route: Route,
    ) -> Result<Self, AccountsError> {
        Ok(Self { stores: checked(stores)?, places: Places::Fixed(route) })
    }

    /// The accounts that have rows of the table.
    fn stores_of(&self, table: &TableName) -> Answer<&[Arc<dyn Store>]> {
        let account = match &self.places {
            Places::Fixed(route) => route.account_of_table(self.stores.len(), table)?,
            Places::Growing(growing) => {
                growing.check(table)?;
                None
            }
        };
        Ok(account.map_or(&self.stores, |account| &self.stores[account..=account]))
    }

    fn place(&self, route: &Route, table: &TableName, partition_key: &str) -> Answer<&dyn Store> {
        Ok(&*self.stores[route.account(self.stores.len(), table, partition_key)?])
    }

    /// A page of rows of many partitions.
    async fn merged(&self, route: &Route, query: &RowQuery) -> Answer<Page> {
        let token = Token::of(query)?;
        let count = self.stores.len();
        let positions = match token {
            None => vec![Position::START; count],
            Some(Token { version: 0, positions, .. }) if positions.len() == count => positions,
            Some(_) => return Err(position::not_of_query()),
        };
        let pages = merge::fetch(&self.stores, query, &positions).await?;
        let mut places = Ok(());
        let merged = merge::merge(query, pages, |account, row| {
            let place = route.account(count, &query.table, &row.partition_key);
            place.map_or_else(
                |error| {
                    places = Err(error);
                    false
                },
                |place| place == account,
            )
        })?;
        places?;
        let is_last = merged.is_last();
        let token = Token { positions: merged.positions, ..Token::default() };
        let continuation = (!is_last).then(|| token.continuation());
        Ok(Page { continuation, ..merged.page })
    }
}

fn checked(
    stores: impl IntoIterator<Item = Arc<dyn Store>>,
) -> Result<Arc<[Arc<dyn Store>]>, AccountsError> {
    let stores: Arc<[Arc<dyn Store>]> = stores.into_iter().collect();
    if !(1..=MAX_ACCOUNTS).contains(&stores.len()) {
        return Err(AccountsError::Number(stores.len()));
    }
    for (at, store) in stores.iter().enumerate() {
        if let Some(same) = stores[..at].iter().position(|other| Arc::ptr_eq(other, store)) {
            return Err(AccountsError::Twice(same, at));
        }
    }
    let hidden: BTreeSet<_> = stores.iter().map(|store| store.hidden_property()).collect();
    if hidden.len() > 1 {
        return Err(AccountsError::HiddenProperties);
    }
    Ok(stores)
}

#[async_trait]
impl Store for Accounts {
    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        let bytes = |store: &dyn Store, operations: &[Operation]| {
            store.commit_bytes(table, partition_key, operations)
        };
        match &self.places {
            // Without an account, the request fails with the reason.
            Places::Fixed(route) => {
                let store = self.place(route, table, partition_key).unwrap_or(&*self.stores[0]);
                bytes(store, operations)
            }
            Places::Growing(_) => {
                let mut all: Vec<_> = growing::fence_operation(partition_key).into_iter().collect();
                all.extend_from_slice(operations);
                self.stores.iter().map(|store| bytes(&**store, &all)).max().unwrap_or_default()
            }
        }
    }

    fn transaction_operations(&self) -> usize {
        match &self.places {
            Places::Fixed(_) => {
                let each = self.stores.iter().map(|store| store.transaction_operations());
                each.min().unwrap_or(MAX_TRANSACTION_OPERATIONS)
            }
            Places::Growing(growing) => growing.operations(),
        }
    }

    /// Creates the table in every account that can have rows of it. Some accounts may have it from a call that
    /// failed before: it is created in the others. It exists already if all have it.
    async fn create_table(&self, table: &TableName) -> Answer<()> {
        match &self.places {
            Places::Fixed(_) => tables::create(self.stores_of(table)?, table).await,
            Places::Growing(growing) => growing.create_table(table).await,
        }
    }

    /// Deletes the table in every account. Some accounts may have lost it in a call that failed before: it
    /// is deleted in the others. It is absent if no account has it. While accounts grow, it fails with
    /// `ServerBusy`, and nothing is deleted.
    async fn delete_table(&self, table: &TableName) -> Answer<()> {
        match &self.places {
            Places::Fixed(_) => tables::delete(self.stores_of(table)?, table).await,
            Places::Growing(growing) => growing.delete_table(table).await,
        }
    }

    /// Lists the tables that some account has, without that of the map.
    async fn list_tables(&self) -> Answer<Vec<TableName>> {
        let tables = tables::list(&self.stores).await?;
        let is_here = |account: usize, table: &TableName| match &self.places {
            Places::Growing(growing) => !growing.is_control(table),
            Places::Fixed(route) => {
                let place = route.account_of_table(self.stores.len(), table);
                place.is_ok_and(|place| place.is_none_or(|place| place == account))
            }
        };
        Ok(tables::union(tables, is_here))
    }

    fn hidden_property(&self) -> Option<&str> {
        self.stores[0].hidden_property()
    }

    /// What all accounts have in common.
    fn backend(&self) -> Backend {
        let others = self.stores[1..].iter().map(|store| store.backend());
        others.fold(self.stores[0].backend(), Backend::in_common)
    }

    fn has_row_bounds(&self) -> bool {
        self.stores.iter().any(|store| store.has_row_bounds())
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
        match &self.places {
            Places::Fixed(route) => {
                let store = self.place(route, table, partition_key)?;
                store.get(table, partition_key, row_key, select, metadata).await
            }
            Places::Growing(growing) => {
                growing.get(table, partition_key, row_key, select, metadata).await
            }
        }
    }

    async fn query(&self, query: &RowQuery) -> Answer<Page> {
        let route = match &self.places {
            Places::Fixed(route) => route,
            Places::Growing(growing) => return growing.query(query).await,
        };
        if let Span::Exact(partition_key) = &query.keys.partition {
            return self.place(route, &query.table, partition_key)?.query(query).await;
        }
        match self.stores_of(&query.table)? {
            [only] => only.query(query).await,
            _ => self.merged(route, query).await,
        }
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Answer<Option<ETag>> {
        match &self.places {
            Places::Fixed(route) => {
                let store = self.place(route, table, partition_key)?;
                store.write(table, partition_key, operation).await
            }
            Places::Growing(growing) => growing.write(table, partition_key, operation).await,
        }
    }

    async fn commit(&self, table: &TableName, transaction: Batch) -> Answer<Vec<Option<ETag>>> {
        match &self.places {
            Places::Fixed(route) => {
                let store = self.place(route, table, &transaction.partition_key)?;
                store.commit(table, transaction).await
            }
            Places::Growing(growing) => growing.commit(table, transaction).await,
        }
    }
}
