//! Rows that cannot be read as their type.

use super::{Order, order, orders_in};
use futures_util::TryStreamExt as _;
use std::sync::{Arc, Mutex};
use support::recorder::recorded;
use table_orm::property::PropertyError;
use table_orm::repo::{Table, UnionList};
use table_orm::{
    DynamicEntity, Error, Projection, Repo, ScanPermit, TableEntity, TableUnion, Tables,
};

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Order)]
struct TextOnly {
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{shop}", row = "NOTE|{n:03}")]
struct Note {
    #[table(key_only)]
    shop: String,
    #[table(key_only)]
    n: u32,
    text: String,
}

#[derive(Debug, Clone, PartialEq, TableUnion)]
enum Paper {
    Order(Order),
    Note(Note),
}

/// The keys of rows that were left out.
#[derive(Debug, Clone, Default)]
struct Skipped(Arc<Mutex<Vec<PropertyError>>>);

impl Skipped {
    fn on_skip(&self) -> impl Fn(&PropertyError) + Send + Sync + 'static {
        let skipped = Arc::clone(&self.0);
        move |error| skipped.lock().unwrap().push(error.clone())
    }

    /// The rows skipped since the last call, in key order.
    fn keys(&self) -> Vec<String> {
        let mut keys: Vec<_> =
            self.0.lock().unwrap().drain(..).map(|error| error.row_key).collect();
        keys.sort();
        keys
    }
}

fn row_key(n: u64) -> String {
    format!("ORD|{n:010}")
}

/// A hundred orders. Every tenth cannot be read, and neither can the first.
async fn mixed() -> (Repo<Order>, Table, Vec<String>) {
    mixed_in(&Tables::in_memory().unwrap()).await
}

async fn mixed_in(tables: &Tables) -> (Repo<Order>, Table, Vec<String>) {
    let (orders, rows) = orders_in(tables).await;
    for n in 0..100 {
        let mut row = order(&row_key(n), n.cast_signed());
        if n.is_multiple_of(10) {
            row.properties.remove("Text");
        }
        rows.insert(&row).await.unwrap();
    }
    let bad = (0..10).map(|n| row_key(10 * n)).collect();
    (orders, rows, bad)
}

fn readable() -> impl Iterator<Item = u64> {
    (0..100_u64).filter(|n| !n.is_multiple_of(10))
}

#[tokio::test]
async fn a_list_skips_unreadable_rows_and_reports_them() {
    let (orders, _rows, bad) = mixed().await;
    let shop = Order::partition("A");
    let skipped = Skipped::default();
    let list = || orders.list(&shop).skip_unreadable(skipped.on_skip());

    let read = list().collect().await.unwrap();
    assert!(read.iter().map(|order| order.n).eq(readable()));
    let faults = skipped.0.lock().unwrap().clone();
    let all = |error: &PropertyError| error.partition_key == "A" && error.property == "Text";
    assert!(faults.iter().all(all), "{faults:?}");
    assert_eq!(skipped.keys(), bad);

    let streamed: Vec<_> = list().stream().try_collect().await.unwrap();
    assert_eq!((streamed, skipped.keys()), (read, bad.clone()));
    let texts = list().project::<TextOnly>().collect().await.unwrap();
    assert_eq!((texts.len(), skipped.keys()), (90, bad.clone()));
    // Only the rows that match the filter.
    let few = list().filter(|order| order.n.lt(15)).collect().await.unwrap();
    assert_eq!((few.len(), skipped.keys()), (13, bad[..2].to_vec()));
    let many = orders.list_many([&shop, &shop]).skip_unreadable(skipped.on_skip());
    assert_eq!(many.collect().await.unwrap().len(), 180);
    assert_eq!(skipped.keys().len(), 20);
}

#[tokio::test]
async fn limits_of_a_list_mean_rows_that_can_be_read_and_counts_mean_all() {
    let (orders, _rows, bad) = mixed().await;
    let skipped = Skipped::default();
    let list = || orders.list(Order::partition("A")).skip_unreadable(skipped.on_skip());
    let some = list().take(12).collect().await.unwrap();
    assert!(some.iter().map(|order| order.n).eq(readable().take(12)));
    assert_eq!(skipped.keys(), bad[..2]);
    assert_eq!(list().first().await.unwrap().unwrap().n, 1);
    assert_eq!(skipped.keys(), bad[..1]);
    let two = orders.list(Order::partition("A").row().n_in(0..2));
    assert_eq!(two.clone().skip_unreadable(skipped.on_skip()).one().await.unwrap().n, 1);
    assert!(two.one().await.is_err());
    skipped.keys();
    assert_eq!(list().count().await.unwrap(), 100);
    assert!(list().exists().await.unwrap());
    assert!(skipped.keys().is_empty());
}

#[tokio::test]
async fn a_page_holds_fewer_rows_than_asked_for_and_its_token_goes_on_behind_them() {
    let (orders, _rows, bad) = mixed().await;
    let skipped = Skipped::default();
    let list = || orders.list(Order::partition("A")).skip_unreadable(skipped.on_skip());
    let mut pages = list().pages(10);
    let first = pages.next().await.unwrap().unwrap();
    assert_eq!((first.len(), skipped.keys()), (9, bad[..1].to_vec()));
    let mut rest = list().pages(1).resume(first.next.unwrap());
    let empty = rest.next().await.unwrap().unwrap();
    assert!(empty.is_empty() && empty.next.is_some());
    assert_eq!(rest.next().await.unwrap().unwrap()[0].n, 11);
}

#[tokio::test]
async fn without_the_option_pages_and_streams_end_with_the_first_row_that_cannot_be_read() {
    let (orders, _rows, _bad) = mixed().await;
    let rows_of_two = Order::partition("A").row().n_in(5..30);
    let mut pages = orders.list(&rows_of_two).pages(5);
    assert_eq!(pages.next().await.unwrap().unwrap().len(), 5);
    let error = pages.next().await.unwrap_err();
    assert!(matches!(&error, Error::Property(error) if error.row_key == row_key(10)), "{error}");
    assert!(pages.plan().steps.is_empty());
    assert_eq!(pages.next().await.unwrap(), None);
    let mut stream = orders.list(&rows_of_two).stream();
    assert!(stream.next().await.is_err());
    assert_eq!(stream.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_union_leaves_out_entities_that_cannot_be_read() {
    let tables = Tables::in_memory().unwrap();
    let (_orders, rows, bad) = mixed_in(&tables).await;
    rows.insert(&DynamicEntity::new("A", "NOTE|001").with("Text", "t")).await.unwrap();
    rows.insert(&DynamicEntity::new("A", "NOTE|002")).await.unwrap();
    let skipped = Skipped::default();
    let union: UnionList<Paper> = tables.union(Order::partition("A"));
    assert!(union.clone().collect().await.is_err());
    let union = union.skip_unreadable(skipped.on_skip());
    let papers = union.clone().collect().await.unwrap();
    assert_eq!(papers.len(), 91);
    assert_eq!(skipped.keys(), [&["NOTE|002".to_owned()][..], &bad].concat());
    let some = union.take(2).collect().await.unwrap();
    assert!(matches!(&some[..], [Paper::Note(_), Paper::Order(_)]), "{some:?}");
}

#[tokio::test]
async fn a_limit_behind_many_unreadable_rows_takes_few_requests() {
    let (tables, record) = recorded();
    let (orders, rows) = orders_in(&tables).await;
    let bad = (0..2500).map(|n| DynamicEntity::new("A", row_key(n)));
    rows.insert_or_replace_many(bad).await.all().unwrap();
    rows.insert(&order(&row_key(2500), 2500)).await.unwrap();
    let first = orders.list(Order::partition("A")).skip_unreadable(|_| {});
    record.take();
    assert_eq!(first.first().await.unwrap().unwrap().n, 2500);
    assert_eq!(record.take().queries.len(), 4, "one row, then whole pages");
    let scan = orders.scan(ScanPermit::because("test")).skip_unreadable(|_| {});
    assert_eq!(scan.take(1).collect().await.unwrap().len(), 1);
    assert!(record.take().queries.len() < 10);
}
