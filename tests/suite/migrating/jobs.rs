//! The mover and what follows it.

use super::types::{Clients, Order, OrderV1, clients, order, permit};
use table_orm::migrate::MigrationPlan;
use table_orm::{DynamicEntity, Error, ScanPermit};

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
    let retired = orders_2.retire(&permit()).await.unwrap();
    assert_eq!((retired.markers, retired.parcels, retired.left), (1500, 0, 0));
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
    let unreadable = orders.get(OrderV1::partition("oslo").by_number().n(3_u32)).await;
    assert!(matches!(unreadable, Err(Error::Property(_))));
}
