//! Checked queries: what they yield is so now.

use super::{Order, Shop, numbers, order};

/// Stale rows: of an order that moved to another day, of one that was deleted, and an old copy.
async fn stale() -> Shop {
    let shop = Shop::open().await;
    shop.canonical(&Order { day: "2026-11-24".into(), ..order("acme", 9) }).await;
    shop.elsewhere(&order("acme", 9)).await;
    shop.elsewhere(&order("gone", 10)).await;
    shop.canonical(&Order { cents: 5, ..order("acme", 11) }).await;
    shop.elsewhere(&order("acme", 11)).await;
    shop.record.take();
    shop
}

#[tokio::test]
async fn a_checked_query_yields_current_entities_that_have_the_row() {
    let Shop { orders, record, .. } = stale().await;
    let day = || orders.list(Order::by_date("2026-11-23"));
    assert_eq!(numbers(&day().collect().await.unwrap()), [1, 2, 3, 9, 10, 11]);
    record.take();
    let checked = day().checked().collect().await.unwrap();
    assert_eq!(numbers(&checked), [1, 2, 3, 11]);
    assert_eq!(checked[3].cents, 5);
    // Each of the two that are left out is read once more, to be settled.
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.gets), (1, 6 + 2));
    // The rows are asked for by their keys alone.
    let select = sent.queries[0].select.as_ref().unwrap();
    assert!(select.iter().all(|name| name != "Cents"), "{select:?}");
    assert_eq!(day().checked().count().await.unwrap(), 4);
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.gets, sent.writes.len()), (1, 4, 0));
}

#[tokio::test]
async fn a_checked_query_filters_the_current_entity() {
    let Shop { orders, .. } = stale().await;
    let day = || orders.list(Order::by_date("2026-11-23").number_in(9..));
    let at_least = |cents| day().filter(move |row| row.cents.ge(cents));
    assert_eq!(numbers(&at_least(100).collect().await.unwrap()), [9, 10, 11]);
    assert!(at_least(100).checked().collect().await.unwrap().is_empty());
    assert_eq!(numbers(&day().checked().collect().await.unwrap()), [11]);
}

#[tokio::test]
async fn a_limit_counts_confirmed_entities() {
    let shop = stale().await;
    for number in 20..60 {
        shop.elsewhere(&order("gone", number)).await;
    }
    let last = order("acme", 60);
    shop.canonical(&last).await;
    shop.elsewhere(&last).await;
    let from =
        |number| shop.orders.list(Order::by_date("2026-11-23").number_in(number..)).checked();
    assert_eq!(numbers(&from(9).take(2).collect().await.unwrap()), [11, 60]);
    assert_eq!(from(12).first().await.unwrap(), Some(last.clone()));
    assert_eq!(from(12).one().await.unwrap(), last);
    assert_eq!(from(12).take(0).collect().await.unwrap(), []);
    shop.record.take();
    assert_eq!(from(1).first().await.unwrap().map(|order| order.number), Some(1));
    let sent = shop.record.take();
    assert_eq!((sent.queries.len(), sent.gets), (1, 1));
}

#[tokio::test]
async fn checked_pages_resume_by_their_token() {
    let Shop { orders, .. } = stale().await;
    let day = || orders.list(Order::by_date("2026-11-23")).checked();
    let mut pages = day().pages(4);
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!(numbers(&first), [1, 2, 3]);
    let mut rest = day().pages(4).resume(first.next.unwrap());
    assert_eq!(numbers(&rest.next().await.unwrap().unwrap()), [11]);
    assert_eq!(rest.next().await.unwrap(), None);
}

#[tokio::test]
async fn partial_rows_are_checked_by_their_keys() {
    let Shop { orders, .. } = stale().await;
    let checked = orders.list(Order::by_courier("Ann")).checked();
    assert_eq!(numbers(&checked.collect().await.unwrap()), [11, 9, 2, 1]);
    let plan = orders.list(Order::by_courier("Ann")).checked().plan().unwrap().to_string();
    assert!(plan.contains("couriers") && plan.contains("orders"), "{plan}");
}

#[tokio::test]
async fn partial_rows_yield_versions_of_whole_entities() {
    let Shop { orders, .. } = stale().await;
    let ann = orders.list(Order::by_courier("Ann")).checked().loaded().take(2);
    let mut loaded = ann.collect().await.unwrap();
    let found: Vec<_> = loaded.iter().map(|order| order.number).collect();
    assert_eq!(found, [11, 9]);
    loaded[1].cents = 77;
    orders.save(loaded.remove(1)).await.unwrap();
    let nine = orders.list(Order::by_courier("Ann").newest(9)).checked().loaded();
    assert_eq!(nine.one().await.unwrap().cents, 77);
}

#[tokio::test]
async fn a_stream_of_checked_entities_reads_page_after_page() {
    let Shop { orders, .. } = stale().await;
    let mut stream = orders.list(Order::large("init")).checked().stream();
    assert_eq!(stream.next().await.unwrap().map(|order| order.number), Some(3));
    assert_eq!(stream.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_list_yields_versions_through_eventual_rows() {
    let Shop { orders, record, .. } = stale().await;
    let day = || orders.list(Order::by_date("2026-11-23"));
    let loaded = day().filter(|row| row.cents.ge(1_000)).loaded().collect().await.unwrap();
    let found: Vec<_> = loaded.iter().map(|order| order.number).collect();
    assert_eq!(found, [1, 2, 3]);
    for order in &loaded {
        assert_eq!(orders.reload(&**order).await.unwrap(), *order);
    }
    record.take();
    let mut eleven = day().loaded().collect().await.unwrap().pop().unwrap();
    assert_eq!((eleven.number, eleven.cents), (11, 5));
    // It reads each hit once, and leaves the stale rows as they are.
    let sent = record.take();
    assert_eq!((sent.queries.len(), sent.gets, sent.writes.len()), (1, 6, 0));
    eleven.cents = 7;
    orders.save(eleven).await.unwrap();
    assert_eq!(orders.list(Order::by_date("2026-11-23").number(11)).one().await.unwrap().cents, 7);
    // Through its own partition, too.
    let mut acme = orders.list(Order::partition("acme").by_cents()).loaded().stream();
    assert_eq!(acme.next().await.unwrap().unwrap().number, 11);
}
