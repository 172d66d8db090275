//! Several accounts as one store.

use crate::Run;
use crate::subject::fresh_name;
use std::sync::Arc;
use std::time::Duration;
use support::azurite::Azurite;
use table_orm::accounts::{Accounts, AccountsError};
use table_orm::azure::AzureStore;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Retry, RetryStrategy};
use table_orm::query::{KeyRange, RowQuery};
use table_orm::store::{ErrorCode, Store};
use table_orm::{DynamicEntity, Error, ScanPermit, TableName, Tables};

/// Two stores in memory.
pub fn of_memory(
    make: impl FnOnce([Arc<dyn Store>; 2]) -> Result<Accounts, AccountsError>,
) -> Accounts {
    let store = || Arc::new(EmbeddedStore::in_memory().unwrap()) as Arc<dyn Store>;
    make([store(), store()]).unwrap()
}

/// Accounts with a map of their slots.
pub fn growing(stores: [Arc<dyn Store>; 2]) -> Result<Accounts, AccountsError> {
    Accounts::growing(stores, TableName::new("accounts").unwrap())
}

/// The accounts of one Azurite.
fn stores_of(azurite: &Azurite) -> [Arc<dyn Store>; 3] {
    azurite
        .connection_strings()
        .map(|text| Arc::new(AzureStore::from_connection_string(&text).unwrap()) as Arc<dyn Store>)
}

/// Two accounts of one Azurite.
pub fn of_azurite(azurite: &Azurite) -> Accounts {
    let [first, second, _] = stores_of(azurite);
    Accounts::by_partition([first, second]).unwrap()
}

/// Three accounts of one Azurite, with a map of their slots.
pub fn growing_of_azurite(azurite: &Azurite) -> Accounts {
    Accounts::growing(stores_of(azurite), TableName::new("accounts").unwrap()).unwrap()
}

/// How long `grow` waits before it moves anything.
const GRACE: Duration = Duration::from_secs(66);

/// Two accounts become three while a client reads and writes.
pub fn a_third_account_takes_its_share(azurite: &Azurite) -> Run {
    let stores = stores_of(azurite);
    Box::pin(async move {
        // On a thread of its own, whose clock can be advanced.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::spawn_blocking(move || runtime.block_on(grow(stores))).await.unwrap();
    })
}

async fn grow(stores: [Arc<dyn Store>; 3]) {
    let (map, table) = (fresh_name(), fresh_name());
    let two = Accounts::growing(stores[..2].to_vec(), map.clone()).unwrap();
    let three = Accounts::growing(stores.clone(), map).unwrap();
    two.create_table(&table).await.unwrap();
    let partitions: Vec<_> = (0..24).map(|n| format!("p{n:02}")).collect();
    let row = |partition: &str, row: usize| DynamicEntity::new(partition, format!("{row:03}"));
    let rows = partitions.iter().flat_map(|key| (0..3).map(|n| row(key, n)));
    let before = Tables::new(two.clone()).table(table.clone());
    before.insert_many(rows.collect::<Vec<_>>()).await.all().unwrap();

    let grows = tokio::spawn({
        let three = three.clone();
        async move { three.grow().await }
    });
    // Once it has marked what moves, no table can be deleted.
    let absent = fresh_name();
    loop {
        match three.delete_table(&absent).await.unwrap_err().code {
            code if code == ErrorCode::SERVER_BUSY => break,
            code => {
                assert_eq!(code, ErrorCode::RESOURCE_NOT_FOUND);
                assert!(!grows.is_finished(), "nothing was marked");
            }
        }
    }
    // Its last request before it waits is on its way.
    tokio::time::sleep(Duration::from_millis(500)).await;
    tokio::time::pause();
    tokio::time::advance(GRACE).await;
    tokio::time::resume();

    let patient =
        Retry::new(RetryStrategy::Fixed { retries: 100, wait: Duration::from_millis(100) });
    let during = Tables::new(three.clone()).layer(patient).unwrap().table(table.clone());
    for partition in &partitions {
        assert!(during.get(partition, "001").await.unwrap().is_some(), "{partition}");
        during.insert(&row(partition, 3)).await.unwrap();
        assert_eq!(during.list(partition, ..).collect().await.unwrap().len(), 4, "{partition}");
    }
    let growth = grows.await.unwrap().unwrap();
    assert!((3..15).contains(&growth.partitions), "{growth:?}");

    let permit = ScanPermit::because("test");
    let found = Tables::new(three.clone()).scan(table.clone(), permit).collect().await.unwrap();
    assert_eq!(found.len(), 4 * partitions.len());
    let moved = RowQuery::new(table.clone(), KeyRange::ALL);
    assert!(stores[2].query(&moved).await.unwrap().body.len() > 100);
    let error = before.insert(&row("p00", 9)).await.unwrap_err();
    assert!(matches!(error, Error::Rejected(_)), "{error}");
    three.delete_table(&table).await.unwrap();
}
