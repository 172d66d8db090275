//! What a cached repository promises: how old its answers are, and what they cost.

mod model;

use futures_util::future::join_all;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Layer, LayerError};
use table_orm::model::Metadata;
use table_orm::store::{Middleware, Store, StoreError, StoredRow};
use table_orm::{Error, Repo, TableEntity, TableName, Tables};
use tokio::sync::Semaphore;
use tokio::time::advance;

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "prices", partition = "{shop}", cache = "30s")]
#[row(by_sku, key = "SKU:{sku:03}")]
#[row(by_cents, key = "CENTS:{cents:05}__{sku:03}")]
struct Price {
    shop: String,
    sku: u32,
    cents: u32,
}

fn price(sku: u32, cents: u32) -> Price {
    Price { shop: "north".into(), sku, cents }
}

/// Counts the point reads, by what they ask for, and answers when it is let.
#[derive(Debug, Clone)]
struct Counted {
    inner: Arc<EmbeddedStore>,
    gets: Arc<Mutex<Vec<Option<String>>>>,
    open: Arc<Semaphore>,
}

impl Counted {
    fn new() -> Self {
        let inner = Arc::new(EmbeddedStore::in_memory().unwrap());
        let open = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        Self { inner, gets: Arc::default(), open }
    }

    /// What the point reads since the last call asked for: `None` for all.
    fn gets(&self) -> Vec<Option<String>> {
        std::mem::take(&mut self.gets.lock().unwrap())
    }

    fn tables(&self) -> Tables {
        Tables::new(self.clone()).on_virtual_time(1)
    }

    /// Another process.
    fn other(&self) -> Repo<Price> {
        Tables::new(Arc::clone(&self.inner)).repo::<Price>().uncached()
    }
}

impl Middleware for Counted {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.gets.lock().unwrap().push(select.map(|names| names.join(",")));
        let answer = self.inner.get(table, partition_key, row_key, select, metadata).await;
        self.open.acquire().await.unwrap().forget();
        answer
    }
}

async fn cents(prices: &Repo<Price>, sku: u32) -> Option<u32> {
    let found = prices.get(Price::partition("north").by_sku().sku(sku)).await;
    found.unwrap().map(|price| price.cents)
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn an_entity_is_read_once_in_its_time_and_its_version_after_that() {
    let store = Counted::new();
    let tables = store.tables();
    let prices = tables.repo::<Price>();
    prices.create_table().await.unwrap();
    prices.insert(&price(1, 250)).await.unwrap();
    for _ in 0..100 {
        assert_eq!(cents(&prices, 1).await, Some(250));
    }
    assert_eq!(store.gets(), [None]);
    advance(30 * SECOND).await;
    // Nothing has changed: no body.
    assert_eq!(cents(&prices, 1).await, Some(250));
    assert_eq!(cents(&prices, 1).await, Some(250));
    assert_eq!(store.gets(), [Some("Timestamp".into())]);
    let counts = tables.cache_counts();
    assert_eq!((counts.hits, counts.misses, counts.unchanged), (100, 1, 1));
    assert!(counts.bytes_saved > 101 * 100 && counts.rows == 1, "{counts:?}");
    // Another process changes it: the version tells, and the whole row is read.
    store.other().upsert(&price(1, 300)).await.unwrap();
    assert_eq!(cents(&prices, 1).await, Some(250));
    advance(30 * SECOND).await;
    assert_eq!(cents(&prices, 1).await, Some(300));
    assert_eq!(store.gets(), [Some("Timestamp".into()), None]);
    // A row that changes is read whole the next time.
    advance(30 * SECOND).await;
    assert_eq!(cents(&prices, 1).await, Some(300));
    advance(30 * SECOND).await;
    assert_eq!(cents(&prices, 1).await, Some(300));
    assert_eq!(store.gets(), [None, Some("Timestamp".into())]);
}

#[tokio::test(start_paused = true)]
async fn that_a_row_does_not_exist_is_kept_as_long() {
    let store = Counted::new();
    let prices = store.tables().repo::<Price>();
    prices.create_table().await.unwrap();
    for _ in 0..10 {
        assert_eq!(cents(&prices, 1).await, None);
    }
    assert_eq!(store.gets(), [None]);
    store.other().insert(&price(1, 250)).await.unwrap();
    assert_eq!(cents(&prices, 1).await, None);
    advance(30 * SECOND).await;
    assert_eq!(cents(&prices, 1).await, Some(250));
    // An own insert is seen at once.
    assert_eq!(cents(&prices, 2).await, None);
    prices.insert(&price(2, 99)).await.unwrap();
    assert_eq!(cents(&prices, 2).await, Some(99));
}

#[tokio::test(start_paused = true)]
async fn own_writes_are_seen_at_once_in_every_row_and_through_every_clone() {
    let store = Counted::new();
    let tables = store.tables();
    let (one, two) = (tables.repo::<Price>(), tables.clone().repo::<Price>());
    one.create_table().await.unwrap();
    one.insert(&price(1, 250)).await.unwrap();
    let by_cents = |cents| Price::partition("north").by_cents().cents(cents).sku(1);
    assert_eq!(cents(&two, 1).await, Some(250));
    assert!(two.get(by_cents(250)).await.unwrap().is_some());
    assert!(two.get(by_cents(300)).await.unwrap().is_none());
    one.update(Price::partition("north").by_sku().sku(1), |price| price.cents = 300).await.unwrap();
    assert_eq!(cents(&two, 1).await, Some(300));
    assert!(two.get(by_cents(250)).await.unwrap().is_none());
    assert!(two.get(by_cents(300)).await.unwrap().is_some());
    // Untyped calls, transactions and bulk writes are own writes, too.
    let rows = tables.table(one.table().clone());
    let mut row = rows.get("north", "SKU:001").await.unwrap().unwrap();
    row.properties.insert("Cents".into(), 7.into());
    rows.insert_or_replace(&row).await.unwrap();
    assert_eq!(cents(&two, 1).await, Some(7));
    assert_eq!(cents(&two, 5).await, None);
    one.insert_many((5..8).map(|sku| price(sku, 10))).await.all().unwrap();
    assert_eq!(cents(&two, 5).await, Some(10));
    one.delete_table().await.unwrap();
    assert!(matches!(two.get(by_cents(300)).await, Err(Error::TableNotFound(_))));
    one.create_table().await.unwrap();
    assert_eq!(cents(&two, 5).await, None);
}

#[tokio::test(start_paused = true)]
async fn calls_for_one_entity_share_a_request_even_if_the_first_is_not_polled() {
    let store = Counted { open: Arc::new(Semaphore::new(0)), ..Counted::new() };
    let prices = store.tables().repo::<Price>();
    prices.create_table().await.unwrap();
    prices.insert(&price(1, 250)).await.unwrap();
    let mut first = Box::pin(cents(&prices, 1));
    assert!(futures_util::poll!(&mut first).is_pending());
    let others = join_all((0..20).map(|_| cents(&prices, 1)));
    let (found, ()) = tokio::join!(others, async { store.open.add_permits(1) });
    assert_eq!(found, [Some(250); 20]);
    assert_eq!(first.await, Some(250));
    assert_eq!(store.gets().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_was_under_way_during_a_write_is_not_kept() {
    let store = Counted { open: Arc::new(Semaphore::new(0)), ..Counted::new() };
    let prices = store.tables().repo::<Price>();
    prices.create_table().await.unwrap();
    prices.insert(&price(1, 250)).await.unwrap();
    // It has read the old price, and its answer is under way.
    let mut early = Box::pin(cents(&prices, 1));
    assert!(futures_util::poll!(&mut early).is_pending());
    prices.uncached().insert(&price(2, 1)).await.unwrap();
    let other = store.other().load(Price::partition("north").by_sku().sku(1)).await.unwrap();
    let mut loaded = other.one().unwrap();
    loaded.cents = 300;
    prices.save(loaded).await.unwrap();
    let late = cents(&prices, 1);
    let (early, late, ()) = tokio::join!(early, late, async { store.open.add_permits(2) });
    assert_eq!((early, late), (Some(250), Some(300)));
    store.open.add_permits(1);
    assert_eq!(cents(&prices, 1).await, Some(300));
    assert_eq!(store.gets().len(), 2, "the late one was kept");
}

#[tokio::test(start_paused = true)]
async fn what_decides_a_write_asks_the_store() {
    let store = Counted::new();
    let prices = store.tables().repo::<Price>();
    prices.create_table().await.unwrap();
    prices.insert(&price(1, 250)).await.unwrap();
    let key = || Price::partition("north").by_sku().sku(1);
    assert_eq!(cents(&prices, 1).await, Some(250));
    store.other().upsert(&price(1, 300)).await.unwrap();
    assert_eq!(cents(&prices, 1).await, Some(250), "kept");
    assert_eq!(prices.load(key()).await.unwrap().one().unwrap().cents, 300);
    assert_eq!(prices.list(key()).one().await.unwrap().cents, 300);
    prices.update(key(), |price| price.cents += 1).await.unwrap();
    assert_eq!(cents(&prices, 1).await, Some(301));
}

#[tokio::test(start_paused = true)]
async fn errors_are_not_kept_and_reach_every_call() {
    let store = Counted::new();
    let prices = store.tables().repo::<Price>();
    let key = || Price::partition("north").by_sku().sku(1);
    let (one, two) = tokio::join!(prices.get(key()), prices.get(key()));
    for answer in [one, two] {
        assert!(matches!(answer, Err(Error::TableNotFound(_))), "{answer:?}");
    }
    store.other().create_table().await.unwrap();
    assert_eq!(prices.get(key()).await.unwrap(), None);
}

/// A layer that answers from another store.
struct Elsewhere(Counted);

impl Layer for Elsewhere {
    fn around(self, _: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(self.0))
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_with_another_layer_keeps_rows_of_its_own() {
    let (store, elsewhere) = (Counted::new(), Counted::new());
    for (store, cents) in [(&store, 100), (&elsewhere, 200)] {
        let other = store.other();
        other.create_table().await.unwrap();
        other.insert(&price(1, cents)).await.unwrap();
    }
    let tables = store.tables();
    let layered = tables.clone().layer(Elsewhere(elsewhere.clone())).unwrap();
    for _ in 0..3 {
        assert_eq!(cents(&tables.repo(), 1).await, Some(100));
        assert_eq!(cents(&layered.repo(), 1).await, Some(200));
    }
    assert_eq!((store.gets().len(), elsewhere.gets().len()), (1, 1));
    for counts in [tables.cache_counts(), layered.cache_counts()] {
        assert_eq!((counts.hits, counts.misses, counts.rows), (2, 1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_rows_that_are_kept_are_bounded() {
    let store = Counted::new();
    for bytes in [0, 1_000, 100_000] {
        let tables = Tables::builder(store.clone()).bare().cache_bytes(bytes).build().unwrap();
        let tables = tables.on_virtual_time(1);
        let prices = tables.repo::<Price>();
        let _exists = prices.create_table_if_not_exists().await.unwrap();
        for sku in 0..999 {
            prices.upsert(&price(sku, 1)).await.unwrap();
            assert_eq!(cents(&prices, sku).await, Some(1));
            let counts = tables.cache_counts();
            assert!(counts.bytes <= bytes, "{counts:?}");
        }
        let counts = tables.cache_counts();
        assert_eq!(counts.rows > 50, bytes == 100_000, "{counts:?}");
    }
}
