//! The mover and what follows it.

use super::types::{Clients, Order, OrderV1, clients, clients_over, order, permit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Layer as _, Retry};
use table_orm::migrate::MigrationPlan;
use table_orm::model::ETag;
use table_orm::query::RowQuery;
use table_orm::store::{Action, Batch, ErrorCode, Middleware, Page, Store, StoreError};
use table_orm::{DynamicEntity, Error, ScanPermit, TableName, Tables};

#[tokio::test]
async fn a_mover_does_what_its_plan_says_and_goes_on_where_another_stopped() {
    let Clients { orders, orders_2, tables, .. } = clients().await;
    for n in 0..1500 {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    let MigrationPlan { entities, rows, requests, parcels, unmovable, .. } =
        orders_2.migrate(&permit()).plan().await.unwrap();
    assert_eq!((entities, rows, requests, parcels), (1500, 4 * 1500, 3 * 1500, 1500));
    assert!(unmovable.is_empty());
    // The first run stops after its first page.
    let mut token = None;
    let whole = async {
        let stop = orders_2.migrate(&permit()).on_progress(|progress| {
            token.get_or_insert_with(|| progress.token.clone());
        });
        stop.await.all()
    };
    let moved = whole.await.unwrap();
    assert_eq!(moved, 1500);
    let token = token.flatten().unwrap();
    let again = orders_2.migrate(&permit()).resume(token).await.all().unwrap();
    assert_eq!(again, 0);
    let report = orders_2.verify_migrated(&permit()).await.unwrap();
    assert!(report.is_complete() && report.left_over.is_empty());
    assert_eq!(report.markers, 1500);
    let mut pages = Vec::new();
    let retire = orders_2.retire(&permit()).on_progress(|report| pages.push(report.markers));
    let retired = retire.await.all().unwrap();
    assert_eq!((retired.markers, retired.parcels, retired.left), (1500, 0, 0));
    assert_eq!(pages, [1000, 1500]);
    // Nothing of the old form is left, and every entity is complete in the new one.
    let old = tables.table("orders".parse().unwrap());
    assert_eq!(old.scan(ScanPermit::because("test")).collect().await.unwrap().len(), 0);
    let all = orders_2.scan(&permit()).await.unwrap();
    assert_eq!(all, (0..1500).map(|n| order(n, 1)).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_entity_that_cannot_move_is_reported_and_served() {
    let Clients { orders, orders_1, orders_2, tables, .. } = clients().await;
    orders.insert(&order(1, 1).into()).await.unwrap();
    // The new key is taken by a row that nobody made by the rules.
    orders.insert(&order(2, 1).into()).await.unwrap();
    let foreign = DynamicEntity::new("oslo__2000", "ORD:00000002")
        .with("N", 2_i32)
        .with("State", "new")
        .with("Cents", 9_i64);
    tables.table("orders2".parse().unwrap()).insert(&foreign).await.unwrap();
    // An old row that cannot be read.
    let broken = DynamicEntity::new("oslo", "ORD:00003");
    tables.table("orders".parse().unwrap()).insert(&broken).await.unwrap();
    let plan = orders_2.migrate(&permit()).plan().await.unwrap();
    assert_eq!((plan.entities, plan.unmovable.len()), (1, 2));
    let report = orders_2.verify_migrated(&permit()).await.unwrap();
    assert_eq!((report.unmoved.len(), report.twice.len()), (2, 1));
    let report = orders_2.migrate(&permit()).await;
    assert!(report.ended.is_none());
    let keys: Vec<_> = report.skipped.iter().map(|skipped| skipped.row_key.as_str()).collect();
    assert!(keys.contains(&"ORD:00003"), "{keys:?}");
    let report = orders_2.verify_migrated(&permit()).await.unwrap();
    assert!(!report.is_complete());
    assert_eq!(report.unmoved.len(), 1);
    // The new form counts, and the parcel of the other stays.
    assert_eq!(report.in_transit.len(), 1);
    let key = Order::partition("oslo", 2000_u32).by_number().n(2_u32);
    assert_eq!(orders_1.get(key).await.unwrap().unwrap().cents, 9);
    let report = orders_2.migrate(&permit()).await;
    let in_the_way = report.skipped.iter().find(|skipped| skipped.row_key == "ORD:00002").unwrap();
    let text = in_the_way.reason.to_string();
    assert!(
        text.contains("another row is stored under this key, and reads give that row"),
        "{text}"
    );
    let unreadable = orders.get(OrderV1::partition("oslo").by_number().n(3_u32)).await;
    assert!(matches!(unreadable, Err(Error::Property(_))));
}

/// A store that does not answer a landing, or any query.
#[derive(Debug)]
struct Stumbles {
    inner: EmbeddedStore,
    at_landing: AtomicBool,
    at_query: AtomicBool,
}

impl Middleware for Stumbles {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        if self.at_query.load(Relaxed) {
            return Err(StoreError::new(ErrorCode::NO_ANSWER, "silent"));
        }
        self.inner.query(query).await
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let consumes = |action: &Action| matches!(action, Action::Delete(_));
        let mut operations = batch.operations.iter();
        let lands = operations.any(|row| row.row_key.starts_with("MOV:") && consumes(&row.action));
        if lands && self.at_landing.swap(false, Relaxed) {
            return Err(StoreError::new(ErrorCode::NO_ANSWER, "silent"));
        }
        self.inner.commit(table, batch).await
    }
}

#[tokio::test]
async fn a_mover_of_one_partition_leaves_no_parcel_behind_it() {
    let inner = EmbeddedStore::in_memory().unwrap();
    let (at_landing, at_query) = (AtomicBool::new(true), AtomicBool::new(false));
    let store = Arc::new(Stumbles { inner, at_landing, at_query });
    let Clients { orders, orders_2, .. } = clients_over(store.clone()).await;
    orders.insert_many((0..1100).map(|n| order(n, 1).into())).await.all().unwrap();
    let mover = orders_2.migrate_partition(OrderV1::partition("oslo"));
    // It ends after its first page.
    let report = mover.on_progress(|_| store.at_query.store(true, Relaxed)).await;
    assert!(report.ended.is_some() && report.progress.moved == 1000, "{report:?}");
    store.at_query.store(false, Relaxed);
    let verified = orders_2.verify_migrated(&permit()).await.unwrap();
    assert_eq!((verified.unmoved.len(), verified.in_transit.len()), (100, 0));
    let token = report.progress.token.unwrap();
    let rest = orders_2.migrate_partition(OrderV1::partition("oslo")).resume(token).await;
    assert_eq!(rest.all().unwrap(), 100);
    assert!(orders_2.verify_migrated(&permit()).await.unwrap().is_complete());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_deletes_of_markers_is_no_reason_to_stop() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let Clients { orders, orders_2, .. } = clients_over(store.clone()).await;
    for n in 0..30 {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    assert_eq!(orders_2.migrate(&permit()).await.all().unwrap(), 30);
    let faults = Faults::seeded(1).on("commit", 1, Fault::LostReply).store(store.clone()).unwrap();
    let retry = Retry::interactive().write_id("WriteId").around(Arc::new(faults)).unwrap();
    let migrating = Tables::new(retry).migrating::<Order>().unwrap();
    let retired = migrating.retire(&permit()).await.all().unwrap();
    assert_eq!((retired.markers, retired.left), (30, 0));
    let old = Tables::new(store).table("orders".parse().unwrap());
    assert_eq!(old.scan(ScanPermit::because("test")).collect().await.unwrap().len(), 0);
}
