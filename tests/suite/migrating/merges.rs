//! Merges of a patch, in either form.

use super::types::{Clients, Order, OrderPatch, clients, order, order_key};
use table_orm::Error;
use table_orm::migrate::Form;

#[tokio::test]
async fn a_merge_sets_properties_in_either_form() {
    let Clients { orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(7, 1).into()).await.unwrap();
    orders_1.merge(order_key!(7_u32), OrderPatch::default().cents(2)).await.unwrap();
    let held = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!((held.form(), held.cents, held.state.as_str()), (Form::Old, 2, "new"));
    orders_2.merge(order_key!(7_u32), OrderPatch::default().cents(3)).await.unwrap();
    let held = orders_1.load(order_key!(7_u32)).await.unwrap().unwrap();
    assert_eq!((held.form(), held.cents, held.state.as_str()), (Form::New, 3, "new"));
    for (client, cents) in [(&orders_1, 4), (&orders_2, 5)] {
        client.merge(order_key!(7_u32), OrderPatch::default().cents(cents)).await.unwrap();
        assert_eq!(client.get(order_key!(7_u32)).await.unwrap(), Some(order(7, cents)));
    }
}

#[tokio::test]
async fn a_merge_of_nothing_writes_nothing() {
    let Clients { orders_1, orders_2, .. } = clients().await;
    // One was deleted after its move, the other never was.
    orders_2.insert(&order(7, 1)).await.unwrap();
    let held = orders_2.load(order_key!(7_u32)).await.unwrap().unwrap();
    orders_2.delete(held).await.unwrap();
    for client in [&orders_1, &orders_2] {
        for n in [7_u32, 8] {
            let merged = client.merge(order_key!(n), OrderPatch::default().cents(2)).await;
            assert!(matches!(merged, Err(Error::NotFound(_))), "{merged:?}");
            assert_eq!(client.get(order_key!(n)).await.unwrap(), None);
        }
    }
}

#[tokio::test]
async fn a_merge_costs_what_its_page_says() {
    let Clients { store, orders, orders_1, orders_2, .. } = clients().await;
    orders.insert(&order(1, 1).into()).await.unwrap();
    store.take();
    orders_1.merge(order_key!(1_u32), OrderPatch::default().cents(2)).await.unwrap();
    assert_eq!(store.take(), 4);
    orders_2.merge(order_key!(1_u32), OrderPatch::default().cents(3)).await.unwrap();
    assert_eq!(store.take(), 6);
    // An entity with index rows is read first.
    orders_2.merge(order_key!(1_u32), OrderPatch::default().cents(4)).await.unwrap();
    assert_eq!(store.take(), 2);
}
