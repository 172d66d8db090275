//! Queries of rows in other partitions, as of any row.

use super::{Delivery, Order, Shop, numbers, order};
use table_orm::query::QueryClass;
use table_orm::{DynamicEntity, TableEntity};

#[tokio::test]
async fn a_query_of_eventual_rows_is_built_and_sent_as_any_other() {
    let Shop { orders, record, .. } = Shop::open().await;
    let day = || Order::by_date("2026-11-23");
    assert_eq!(numbers(&orders.list(day()).collect().await.unwrap()), [1, 2, 3]);
    let second = day().number(2).customer("acme");
    assert_eq!(
        orders.get(&second).await.unwrap(),
        Some(Order { cents: 2_000, ..order("acme", 2) })
    );
    assert_eq!(orders.get(day().number(2).customer("init")).await.unwrap(), None);
    assert_eq!(numbers(&orders.list(day().number_in(2..)).collect().await.unwrap()), [2, 3]);
    assert_eq!(orders.list(day()).count().await.unwrap(), 3);
    assert_eq!(orders.list(Order::by_date("2026-11-24")).count().await.unwrap(), 0);
    let cheap = orders.list(day()).filter(|row| row.cents.lt(2_000));
    assert_eq!(numbers(&cheap.collect().await.unwrap()), [1]);
    let both =
        orders.get_many([day().number(3).customer("init"), day().number(9).customer("init")]);
    assert_eq!(both.await.unwrap().iter().flatten().count(), 1);
    let days = ["2026-11-23", "2026-11-24"].map(Order::by_date);
    assert_eq!(numbers(&orders.list_many(days).collect().await.unwrap()), [1, 2, 3]);
    let plan = orders.list(day()).plan().unwrap();
    assert_eq!(plan.steps.len(), 1);
    let classes = record.take().queries.into_iter().map(|query| query.keys.class());
    assert!(classes.into_iter().all(|class| class == QueryClass::RowRange));
}

#[tokio::test]
async fn a_query_goes_to_the_table_of_the_row() {
    let Shop { orders, record, .. } = Shop::open().await;
    record.take();
    let ann = || Order::by_courier("Ann");
    let deliveries = orders.list(ann()).project::<Delivery>().collect().await.unwrap();
    let found: Vec<_> = deliveries.iter().map(|row| (row.number, &*row.customer)).collect();
    assert_eq!(found, [(2, "acme"), (1, "acme")]);
    assert_eq!(deliveries[0].courier.as_deref(), Some("Ann"));
    assert_eq!(deliveries[0].cents, 2_000);
    let one = orders.get(ann().newest(1).customer("acme")).project::<Delivery>();
    assert_eq!(one.await.unwrap().map(|row| row.number), Some(1));
    assert_eq!(numbers(&orders.list(Order::large("init")).collect().await.unwrap()), [3]);
    let plan = orders.list(Order::large("init")).plan().unwrap().to_string();
    assert!(plan.contains("archive"), "{plan}");
    let tables: Vec<_> =
        record.take().queries.iter().map(|query| query.table.to_string()).collect();
    assert_eq!(tables, ["couriers", "archive"]);
}

#[tokio::test]
async fn a_token_resumes_a_query_of_eventual_rows_and_no_other() {
    let Shop { orders, .. } = Shop::open().await;
    let day = || orders.list(Order::by_date("2026-11-23"));
    let mut pages = day().pages(2);
    let first = pages.next().await.unwrap().unwrap();
    let token = first.next.unwrap();
    assert_eq!(numbers(&first.items), [1, 2]);
    let rest = day().pages(2).resume(token.clone()).collect().await.unwrap();
    assert_eq!(numbers(&rest), [3]);
    let other = orders.list(Order::by_date("2026-11-24")).pages(2).resume(token);
    assert!(matches!(other.collect().await, Err(table_orm::Error::Token(_))));
}

#[tokio::test]
async fn load_through_a_eventual_row_reads_the_canonical_row() {
    let Shop { orders, record, .. } = Shop::open().await;
    record.take();
    let loaded = orders.load(Order::by_date("2026-11-23").number_in(..3)).await.unwrap();
    assert_eq!(record.take().gets, 2);
    let version = orders.reload(&order("acme", 1)).await.unwrap();
    assert_eq!((loaded[0].number, loaded[0].etag()), (1, version.etag()));
    assert_eq!(loaded.len(), 2);
    let plan = orders.load(Order::large("init")).plan().unwrap();
    assert_eq!(plan.steps.len(), 2);
}

#[tokio::test]
async fn load_leaves_out_an_entity_that_no_longer_has_the_row() {
    let shop = Shop::open().await;
    let moved = Order { day: "2026-11-24".into(), ..order("acme", 9) };
    shop.canonical(&moved).await;
    shop.elsewhere(&order("acme", 9)).await;
    shop.elsewhere(&order("gone", 10)).await;
    let loaded = shop.orders.load(Order::by_date("2026-11-23").number_in(9..)).await.unwrap();
    assert_eq!(loaded.len(), 0);
    let listed = shop.orders.list(Order::by_date("2026-11-23").number_in(9..));
    assert_eq!(numbers(&listed.collect().await.unwrap()), [9, 10]);
}

#[tokio::test]
async fn rows_of_others_in_a_foreign_partition_are_left_out() {
    let shop = Shop::open().await;
    for key in ["TKT:0123", "DUE:01ARYZ6S41", "ORD:1__acme", "ORD:00000001", "UNQ:bib:7"] {
        let row = DynamicEntity::new("2026-11-23", key);
        shop.tables.table(shop.orders.table().clone()).insert(&row).await.unwrap();
    }
    let day = || shop.orders.list(Order::by_date("2026-11-23"));
    assert_eq!(numbers(&day().collect().await.unwrap()), [1, 2, 3]);
    assert_eq!(day().count().await.unwrap(), 3);
    let entity = order("acme", 1);
    assert_eq!(Order::EVENTUAL[0].table_of(shop.orders.table()), *shop.orders.table());
    assert_eq!(entity.day, "2026-11-23");
}
