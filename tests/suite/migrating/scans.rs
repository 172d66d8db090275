//! Scans over both forms, entity by entity.

use super::types::{Clients, Order, clients, order, order_key, permit};
use futures_util::{StreamExt as _, TryStreamExt as _};
use std::collections::BTreeSet;

#[tokio::test]
async fn a_stream_gives_the_first_page_before_it_reads_the_next_one() {
    let Clients { store, orders, orders_2, .. } = clients().await;
    orders.insert_many((0..2500).map(|n| order(n, 1).into())).await.all().unwrap();
    orders_2.insert(&order(2500, 1)).await.unwrap();
    store.take();
    let mut all = orders_2.scan(&permit()).stream();
    assert_eq!((all.next().await.unwrap().unwrap().n, store.take()), (0, 1));
    let mut read = 1;
    while let Some(order) = all.next().await.unwrap() {
        assert_eq!(order.n, read);
        read += 1;
    }
    // 2501 old rows with the marker, no parcel, and one new row.
    assert_eq!((read, store.take()), (2501, 2 + 1 + 1));
    assert_eq!(orders_2.scan(&permit()).count().await.unwrap(), 2501);
}

#[tokio::test]
async fn a_stream_gives_each_entity_once_whatever_moves_meanwhile() {
    let Clients { orders, orders_2, .. } = clients().await;
    orders.insert_many((0..1500).map(|n| order(n, 1).into())).await.all().unwrap();
    let mut all = orders_2.scan(&permit()).stream();
    let mut seen = BTreeSet::new();
    while let Some(found) = all.next().await.unwrap() {
        // One that was given, and one that is still to come.
        for n in [found.n, 1499 - found.n] {
            if n % 50 == 0 {
                orders_2.update(order_key!(n), |order| order.cents += 1).await.unwrap();
            }
        }
        assert!(seen.insert(found.n), "{} twice", found.n);
    }
    assert_eq!(seen.len(), 1500);
    let sorted = orders_2.scan(&permit()).await.unwrap();
    assert!(sorted.iter().map(|order| order.n).eq(0..1500));
}

#[tokio::test]
async fn pages_of_a_list_in_another_order_have_each_entity_once() {
    let Clients { orders, orders_2, .. } = clients().await;
    // The states sort otherwise than the numbers, so each page reads all old rows, and keeps the first ones.
    let state = |n: u32| format!("s{:04}", (n * 7919) % 5000);
    let all = || (0..5000).map(|n| Order { year: 2000, state: state(n), ..order(n % 1000, 1) });
    let all: Vec<_> =
        all().enumerate().map(|(at, one)| Order { n: at as u32 % 1000, ..one }).collect();
    let of_year: Vec<_> = all.into_iter().take(1000).collect();
    orders.insert_many(of_year.iter().cloned().map(Into::into)).await.all().unwrap();
    let more = (1000..6000).map(|n| Order { state: state(n), ..order(n, 1) });
    orders.insert_many(more.map(Into::into)).await.all().unwrap();
    let by_state = || orders_2.list(Order::partition("oslo", 2000_u32).by_state());
    let whole = by_state().await.unwrap();
    assert_eq!(whole.len(), 1000);
    assert!(whole.is_sorted_by_key(|order| (order.state.clone(), order.n)));
    let items = if support::is_long() { 30 } else { 90 };
    let mut pages = by_state().pages(items);
    let mut paged = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        assert!(page.items.len() == items || page.next.is_none());
        // Some of those to come move, and others that were given.
        let moving = [&page.items[0], &whole[whole.len() - 1 - paged.len()]];
        for order in moving {
            orders_2.update(order_key!(order.n), |order| order.cents += 1).await.unwrap();
        }
        paged.extend(page.items);
    }
    let key = |order: &Order| (order.state.clone(), order.n);
    assert!(paged.iter().map(key).eq(whole.iter().map(key)));
    let streamed: Vec<_> =
        by_state().stream().map(|order| order.map(|one| one.n)).try_collect().await.unwrap();
    assert!(streamed.into_iter().eq(whole.iter().map(|order| order.n)));
}
