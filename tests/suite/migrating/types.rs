//! Types that migrate: to other partitions of another table, to other partitions, and within a partition.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, StoredForm};
use table_orm::model::ETag;
use table_orm::store::{
    Action, Batch, ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest,
};
use table_orm::{Repo, ScanPermit, TableEntity, TableName, Tables};

/// To a partition for each year, in another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}")]
#[row(by_number, key = "ORD:{n:05}")]
#[row(by_state, key = "STA:{state}__{n:05}")]
pub struct OrderV1 {
    #[table(key_only)]
    pub shop: String,
    pub n: u32,
    pub state: String,
    pub cents: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders2", partition = "{shop}__{year}", migrate_from = OrderV1)]
#[row(by_number, key = "ORD:{n:08}")]
#[row(by_state, key = "STA:{state}__{n:08}")]
pub struct Order {
    #[table(key_only)]
    pub shop: String,
    #[table(key_only)]
    pub year: u32,
    pub n: u32,
    pub state: String,
    pub cents: i64,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, n, state, cents }: OrderV1) -> Self {
        Self { shop, year: 2000 + n / 1000, n, state, cents }
    }
}

impl From<Order> for OrderV1 {
    fn from(Order { shop, n, state, cents, .. }: Order) -> Self {
        Self { shop, n, state, cents }
    }
}

/// Within a partition, with a unique value.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "items", partition = "{shop}", row = "I:{n:03}", unique(code))]
pub struct ItemV1 {
    pub shop: String,
    pub n: u32,
    pub code: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "items", partition = "{shop}", row = "ITEM:{n:08}", unique(code), migrate_from = ItemV1)]
pub struct Item {
    pub shop: String,
    pub n: u32,
    pub code: String,
}

impl From<ItemV1> for Item {
    fn from(ItemV1 { shop, n, code }: ItemV1) -> Self {
        Self { shop, n, code }
    }
}

impl From<Item> for ItemV1 {
    fn from(Item { shop, n, code }: Item) -> Self {
        Self { shop, n, code }
    }
}

pub fn order(n: u32, cents: i64) -> Order {
    OrderV1 { shop: "oslo".into(), n, state: "new".into(), cents }.into()
}

pub fn item(n: u32, code: &str) -> Item {
    Item { shop: "oslo".into(), n, code: code.into() }
}

pub fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

/// A store that counts its requests.
#[derive(Debug)]
pub struct Counter {
    inner: Arc<dyn Store>,
    requests: AtomicU64,
}

impl Counter {
    pub fn around(inner: Arc<dyn Store>) -> Self {
        Self { inner, requests: AtomicU64::new(0) }
    }

    /// The requests since the last call.
    pub fn take(&self) -> u64 {
        self.requests.swap(0, Relaxed)
    }
}

impl Middleware for Counter {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn call<T: StoreAnswer>(
        &self,
        _: StoreRequest<'_>,
        next: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        self.requests.fetch_add(1, Relaxed);
        next.await
    }
}

/// Loses parcels on their way, while it is set to: their landings are not answered.
#[derive(Debug)]
pub struct Loses {
    pub inner: EmbeddedStore,
    pub landings: AtomicBool,
}

impl Middleware for Loses {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let lands = batch
            .operations
            .iter()
            .any(|row| row.row_key.starts_with("MOV:") && matches!(row.action, Action::Delete(_)));
        if lands && self.landings.load(Relaxed) {
            return Err(StoreError::new(ErrorCode::NO_ANSWER, "lost"));
        }
        self.inner.commit(table, batch).await
    }
}

/// Clients of all versions over one store.
pub struct Clients {
    pub store: Arc<Counter>,
    pub orders: Repo<OrderV1>,
    pub orders_1: Migrating<Order>,
    pub orders_2: Migrating<Order>,
    pub items: Repo<ItemV1>,
    pub items_1: Migrating<Item>,
    pub items_2: Migrating<Item>,
    pub tables: Tables,
}

pub async fn clients() -> Clients {
    clients_over(Arc::new(EmbeddedStore::in_memory().unwrap())).await
}

pub async fn clients_over(inner: Arc<dyn Store>) -> Clients {
    let store = Arc::new(Counter::around(inner));
    let tables = Tables::new(store.clone());
    let (orders, items) = (tables.repo::<OrderV1>(), tables.repo::<ItemV1>());
    orders.create_table().await.unwrap();
    items.create_table().await.unwrap();
    let orders_2 = tables.migrating::<Order>().unwrap();
    orders_2.create_table_if_not_exists().await.unwrap();
    let items_2 = tables.migrating::<Item>().unwrap();
    let (orders_1, items_1) =
        (orders_2.clone().inserting(StoredForm::Old), items_2.clone().inserting(StoredForm::Old));
    store.take();
    Clients { store, orders, orders_1, orders_2, items, items_1, items_2, tables }
}

/// The complete key of an order.
macro_rules! order_key {
    ($n:expr) => {
        Order::partition("oslo", 2000 + $n / 1000).by_number().n($n)
    };
}

macro_rules! item_key {
    ($n:expr) => {
        Item::partition("oslo").row().n($n)
    };
}

pub(crate) use {item_key, order_key};
