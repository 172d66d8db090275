//! What each call costs, in requests: the table of the guide.

use super::types::{Clients, Item, Order, clients, item, item_key, order, order_key, permit};

macro_rules! costs {
    ($store:expr, $call:expr) => {{
        $store.take();
        let answer = $call.await.unwrap();
        (answer, $store.take())
    }};
}

#[tokio::test]
async fn calls_across_partitions_cost_what_the_guide_says() {
    let Clients { store, orders, orders_1, orders_2, .. } = clients().await;
    assert_eq!(costs!(store, orders_1.insert(&order(1, 1))).1, 1);
    assert_eq!(costs!(store, orders_2.insert(&order(2, 1))).1, 2);
    orders.insert(&order(3, 1).into()).await.unwrap();
    for client in [&orders_1, &orders_2] {
        assert_eq!(costs!(store, client.get(order_key!(2_u32))).1, 1);
        assert_eq!(costs!(store, client.get(order_key!(3_u32))).1, 2);
        assert_eq!(costs!(store, client.get(order_key!(9_u32))).1, 3);
        assert_eq!(costs!(store, client.list(Order::partition("oslo", 2000_u32))).1, 3);
    }
    let mut one = orders_1.load(order_key!(1_u32)).await.unwrap().unwrap();
    one.cents = 2;
    assert_eq!(costs!(store, orders_1.save(&mut one)).1, 1);
    one.cents = 3;
    assert_eq!(costs!(store, orders_2.save(&mut one)).1, 3);
    one.cents = 4;
    assert_eq!(costs!(store, orders_2.save(&mut one)).1, 1);
    assert_eq!(costs!(store, orders_2.delete(one)).1, 1);
    // Deleted after a move.
    assert_eq!(costs!(store, orders_2.get(order_key!(1_u32))).1, 4);
    let three = orders_2.load(order_key!(3_u32)).await.unwrap().unwrap();
    assert_eq!(costs!(store, orders_2.delete(three)).1, 1);
    for n in 10..20 {
        orders.insert(&order(n, 1).into()).await.unwrap();
    }
    // A page of old rows, three requests for each entity, and a page of parcels.
    let (report, cost) = {
        store.take();
        (orders_2.migrate(&permit()).await, store.take())
    };
    assert_eq!((report.all().unwrap(), cost), (10, 1 + 3 * 10 + 1));
    let (plan, cost) = costs!(store, orders_2.retire(&permit()).plan());
    // A page of old rows and one of parcels.
    assert_eq!((plan.markers, plan.left, cost), (12, 0, 1 + 1));
    store.take();
    let (report, cost) = (orders_2.retire(&permit()).await.all().unwrap(), store.take());
    // The old rows are read twice, and 11 of the 12 markers name a parcel.
    assert_eq!((report.markers, cost), (12, 2 + 1 + 11 + 1));
    assert_eq!(plan.requests, cost);
}

#[tokio::test]
async fn calls_within_a_partition_cost_what_the_guide_says() {
    let Clients { store, items, items_1, items_2, .. } = clients().await;
    assert_eq!(costs!(store, items_1.insert(&item(1, "a"))).1, 1);
    assert_eq!(costs!(store, items_2.insert(&item(2, "b"))).1, 1);
    items.insert(&item(3, "c").into()).await.unwrap();
    assert_eq!(costs!(store, items_2.get(item_key!(2_u32))).1, 1);
    assert_eq!(costs!(store, items_2.get(item_key!(3_u32))).1, 2);
    assert_eq!(costs!(store, items_2.get(item_key!(9_u32))).1, 3);
    assert_eq!(costs!(store, items_2.list(Item::partition("oslo"))).1, 2);
    let mut one = items_1.load(item_key!(1_u32)).await.unwrap().unwrap();
    assert_eq!(costs!(store, items_2.save(&mut one)).1, 1);
    assert_eq!(costs!(store, items_2.delete(one)).1, 1);
    assert_eq!(costs!(store, items_2.get(item_key!(1_u32))).1, 3);
    let (report, cost) = {
        store.take();
        (items_2.migrate(&permit()).await, store.take())
    };
    assert_eq!((report.all().unwrap(), cost), (1, 1 + 1 + 1));
    let (report, cost) = (items_2.retire(&permit()).await.all().unwrap(), store.take());
    assert_eq!((report.markers, cost), (3, 2 + 1 + 1));
}
