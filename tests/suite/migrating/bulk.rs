//! Many entities at once: written, and moved in the same transactions.

use super::types::{
    Clients, Item, Order, OrderV1, clients, item, item_key, order, order_key, permit,
};
use table_orm::Error;
use table_orm::migrate::StoredForm;

#[tokio::test]
async fn entities_of_one_partition_move_in_few_transactions() {
    let Clients { store, orders, orders_1, orders_2, items, items_2, .. } = clients().await;
    orders.insert_many((0..120).map(|n| order(n, 1).into())).await.all().unwrap();
    store.take();
    // 2 old rows of each, 2 new rows and a parcel: 33 entities in a landing.
    let plan = orders_2.migrate(&permit()).in_bulk().plan().await.unwrap();
    assert_eq!((plan.entities, plan.requests, plan.parcels), (120, 4 * 3, 120));
    store.take();
    let report = orders_2.migrate(&permit()).in_bulk().await;
    // A page of old rows, and one of parcels.
    assert_eq!((report.all().unwrap(), store.take()), (120, 4 * 3 + 2));
    assert!(orders_2.verify_migrated(&permit()).await.unwrap().is_complete());
    let all = orders_1.list(Order::partition("oslo", 2000_u32)).await.unwrap();
    assert_eq!(all, (0..120).map(|n| order(n, 1)).collect::<Vec<_>>());
    // Within a partition: an old row, a new row and a guard of each.
    items.insert_many((0..90).map(|n| item(n, &format!("{n}")).into())).await.all().unwrap();
    let plan = items_2.migrate(&permit()).in_bulk().plan().await.unwrap();
    let report = items_2.migrate(&permit()).in_bulk().await;
    assert_eq!((report.all().unwrap(), plan.entities, plan.parcels), (90, 90, 0));
    assert!(plan.requests < 10, "{plan:?}");
    assert_eq!(items_2.list(Item::partition("oslo")).await.unwrap().len(), 90);
}

#[tokio::test]
async fn a_mover_of_one_partition_leaves_the_others() {
    let Clients { orders, orders_2, .. } = clients().await;
    for shop in ["oslo", "rome"] {
        let of_shop = (0..50).map(|n| OrderV1 { shop: shop.into(), ..order(100 * n, 1).into() });
        orders.insert_many(of_shop).await.all().unwrap();
    }
    let plan = orders_2.migrate_partition(OrderV1::partition("rome")).plan().await.unwrap();
    assert_eq!((plan.entities, plan.requests), (50, 3 * 50));
    let report = orders_2.migrate_partition(OrderV1::partition("rome")).in_bulk().await;
    assert_eq!(report.all().unwrap(), 50);
    let report = orders_2.verify_migrated(&permit()).await.unwrap();
    assert_eq!((report.unmoved.len(), report.markers), (50, 50));
    assert!(report.unmoved.iter().all(|row| row.partition_key == "oslo"));
    assert!(report.left_over.is_empty() && report.in_transit.is_empty());
}

#[tokio::test]
async fn an_entity_that_cannot_move_keeps_no_other_from_moving_in_bulk() {
    use table_orm::DynamicEntity;
    let Clients { orders, orders_2, tables, .. } = clients().await;
    orders.insert_many((0..10).map(|n| order(n, 1).into())).await.all().unwrap();
    let foreign = DynamicEntity::new("oslo__2000", "ORD:00000004")
        .with("N", 4_i32)
        .with("State", "new")
        .with("Cents", 9_i64);
    tables.table("orders2".parse().unwrap()).insert(&foreign).await.unwrap();
    let report = orders_2.migrate(&permit()).in_bulk().await;
    assert_eq!((report.progress.moved, report.skipped.len()), (10, 1));
    let report = orders_2.verify_migrated(&permit()).await.unwrap();
    assert_eq!((report.in_transit.len(), report.unmoved.len(), report.markers), (1, 0, 10));
}

#[tokio::test]
async fn many_entities_are_inserted_in_the_form_of_the_client() {
    let Clients { store, orders, orders_1, orders_2, items_1, items_2, .. } = clients().await;
    assert_eq!(orders_1.insert_many((0..40).map(|n| order(n, 1))).await.all().unwrap(), 40);
    assert_eq!(store.take(), 1);
    // Markers, then rows: 2 of each.
    assert_eq!(orders_2.insert_many((40..80).map(|n| order(n, 1))).await.all().unwrap(), 40);
    assert_eq!(store.take(), 2);
    for (n, form) in [(7_u32, StoredForm::Old), (47, StoredForm::New)] {
        assert_eq!(orders_2.load(order_key!(n)).await.unwrap().unwrap().form(), form);
    }
    assert!(orders.insert(&order(47, 2).into()).await.is_err());
    store.take();
    assert_eq!(
        items_2.insert_many((0..30).map(|n| item(n, &format!("{n}")))).await.all().unwrap(),
        30
    );
    assert_eq!(store.take(), 1);
    // Those that are there are reported, and the others are inserted.
    for (client, first) in [(&orders_1, 90), (&orders_2, 92)] {
        let report = client.insert_many([7, 47, first, first + 1].map(|n| order(n, 2))).await;
        assert_eq!((report.written, report.failures.len()), (2, 2));
        for failure in report.failures {
            assert!(matches!(failure.error, Error::AlreadyExists(_)), "{:?}", failure.error);
            assert_eq!(failure.entities.len(), 1);
        }
    }
    let report = items_1.insert_many([item(100, "a"), item(101, "3"), item(102, "b")]).await;
    assert_eq!(report.written, 2);
    assert!(matches!(report.all(), Err(Error::UniqueViolation { .. })));
    assert_eq!(items_2.get(item_key!(101_u32)).await.unwrap(), None);
}

#[tokio::test]
async fn many_entities_are_upserted_and_deleted_in_either_form() {
    let Clients { store, orders_1, orders_2, .. } = clients().await;
    orders_1.insert_many((0..20).map(|n| order(n, 1))).await.all().unwrap();
    orders_2.insert_many((20..40).map(|n| order(n, 1))).await.all().unwrap();
    assert_eq!(orders_1.upsert_many((10..50).map(|n| order(n, 2))).await.all().unwrap(), 40);
    let mut held = Vec::new();
    for n in 0..50_u32 {
        held.push(orders_2.load(order_key!(n)).await.unwrap().unwrap());
    }
    assert_eq!(held.iter().filter(|held| held.form() == StoredForm::New).count(), 20);
    assert!(held.iter().all(|held| held.cents == if held.n < 10 { 1 } else { 2 }));
    // One of each form is written meanwhile.
    for n in [3_u32, 33] {
        orders_1.update(order_key!(n), |order| order.cents = 9).await.unwrap();
    }
    store.take();
    let report = orders_2.delete_many(held).await;
    assert_eq!((report.written, report.failures.len()), (48, 2));
    let mut lost: Vec<_> = report.failures.iter().map(|failure| failure.entities[0].n).collect();
    lost.sort_unstable();
    assert_eq!(lost, [3, 33]);
    assert!(report.failures.iter().all(|lost| matches!(lost.error, Error::Conflict(_))));
    let left = orders_1.list(Order::partition("oslo", 2000_u32)).await.unwrap();
    assert_eq!(left.iter().map(|order| order.n).collect::<Vec<_>>(), [3, 33]);
    let mut held = Vec::new();
    for n in [3_u32, 33] {
        held.push(orders_2.load(order_key!(n)).await.unwrap().unwrap());
    }
    store.take();
    assert_eq!(orders_2.delete_many(held).await.all().unwrap(), 2);
    assert_eq!(store.take(), 2);
}

#[tokio::test]
async fn entities_of_one_key_are_upserted_in_their_order() {
    let Clients { orders_1, orders_2, .. } = clients().await;
    for client in [&orders_1, &orders_2] {
        let many = (0..60).map(|at| order(at % 3, i64::from(at)));
        assert_eq!(client.upsert_many(many).await.all().unwrap(), 60);
        let all = client.list(Order::partition("oslo", 2000_u32)).await.unwrap();
        let cents: Vec<_> = all.iter().map(|order| order.cents).collect();
        assert_eq!(cents, [57, 58, 59]);
    }
}
