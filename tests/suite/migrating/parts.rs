//! Lists in parts: filters, limits, pages, streams.

use super::types::{
    Clients, Item, Order, OrderV1, clients, clients_over, item, item_key, order, order_key, permit,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::Faults;
use table_orm::model::DateTime;
use table_orm::query::{Column, RowQuery, TokenError};
use table_orm::store::{Middleware, Page, Store, StoreError};
use table_orm::{Error, TableEntity};

fn numbers(orders: &[Order]) -> Vec<u32> {
    orders.iter().map(|order| order.n).collect()
}

/// Half of them are in each form.
async fn mixed(numbers: impl Iterator<Item = u32>) -> Clients {
    let clients = clients().await;
    for n in numbers {
        let mut order = order(n, i64::from(n));
        order.state = if n % 3 == 0 { "sent" } else { "new" }.into();
        let client = if n % 2 == 0 { &clients.orders_1 } else { &clients.orders_2 };
        client.insert(&order).await.unwrap();
    }
    clients.store.take();
    clients
}

#[tokio::test]
async fn a_filter_and_a_limit_hold_for_entities_of_both_forms() {
    let Clients { orders_1, orders_2, .. } = mixed(0..20).await;
    let year = Order::partition("oslo", 2000_u32);
    for client in [&orders_1, &orders_2] {
        let sent = client.list(&year).filter(|order| order.state.eq("sent"));
        assert_eq!(numbers(&sent.clone().await.unwrap()), [0, 3, 6, 9, 12, 15, 18]);
        assert_eq!(numbers(&sent.clone().take(3).await.unwrap()), [0, 3, 6]);
        assert_eq!(sent.clone().first().await.unwrap().map(|order| order.n), Some(0));
        let few = sent.filter(|order| order.cents.gt(6).and(order.cents.lt(13)));
        assert_eq!(numbers(&few.await.unwrap()), [9, 12]);
        let by_state = client.list(year.by_state().state("new")).take(4);
        assert_eq!(numbers(&by_state.await.unwrap()), [1, 2, 4, 5]);
        let none = client.list(&year).filter(|order| order.cents.eq(99));
        assert_eq!(none.first().await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_filter_on_keys_and_timestamps_holds_for_entities_of_both_forms() {
    let Clients { orders_1, orders_2, .. } = mixed(0..6).await;
    let year = Order::partition("oslo", 2000_u32);
    let written = || Column::<DateTime>::new("Timestamp");
    let row_key = || Column::<String>::new("RowKey");
    let long_ago: DateTime = "2001-02-03T04:05:06Z".parse().unwrap();
    for client in [&orders_1, &orders_2] {
        let list = client.list(&year);
        assert_eq!(list.clone().filter(|_| written().gt(long_ago)).await.unwrap().len(), 6);
        assert_eq!(list.clone().filter(|_| written().le(long_ago)).await.unwrap().len(), 0);
        let late = list.filter(|_| row_key().ge("ORD:00000002").and(row_key().lt("ORD:00000005")));
        assert_eq!(numbers(&late.await.unwrap()), [2, 3, 4]);
    }
}

#[tokio::test]
async fn pages_give_both_forms_in_key_order_and_go_on_by_a_token() {
    let Clients { orders_1, orders_2, .. } = mixed(0..20).await;
    let year = Order::partition("oslo", 2000_u32);
    // Another client goes on with each page.
    let (mut found, mut sizes, mut token) = (Vec::new(), Vec::new(), None);
    for client in [&orders_1, &orders_2].into_iter().cycle() {
        let pages = client.list(&year).pages(7);
        let mut pages = token.into_iter().fold(pages, |pages, token| pages.resume(token));
        let page = pages.next().await.unwrap().unwrap();
        sizes.push(page.len());
        found.extend(numbers(&page.items));
        token = page.next.map(|token| token.to_string().parse().unwrap());
        if token.is_none() {
            assert_eq!(pages.next().await.unwrap(), None);
            break;
        }
    }
    assert_eq!(found, (0..20).collect::<Vec<_>>());
    assert_eq!(sizes, [7, 7, 6]);
    // In the order of an index row, and with a limit.
    let mut pages = orders_2.list(year.by_state()).take(16).pages(6);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        found.push(numbers(&page.items));
    }
    let by_state = [1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 0, 3, 6];
    assert_eq!(found.concat(), by_state);
    assert_eq!(found.len(), 3);
}

#[tokio::test]
async fn an_entity_that_moves_between_two_pages_is_given_once() {
    let Clients { orders_1, orders_2, .. } = mixed(0..30).await;
    let year = Order::partition("oslo", 2000_u32);
    for step in [3, 5] {
        let mut pages = orders_1.list(&year).pages(5);
        let mut found = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            found.extend(numbers(&page.items));
            // Those that were given, and those that will be.
            for n in (0..30_u32).step_by(step) {
                orders_2.update(order_key!(n), |order| order.cents += 1).await.unwrap();
            }
        }
        assert_eq!(found, (0..30).collect::<Vec<_>>());
    }
    assert!(orders_2.migrate(&permit()).await.all().is_ok());
}

/// `Order` when its migration has ended.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders2", partition = "{shop}__{year}", row = "ORD:{n:08}")]
struct Last {
    #[table(key_only)]
    shop: String,
    #[table(key_only)]
    year: u32,
    n: u32,
}

#[tokio::test]
async fn a_token_resumes_its_own_query_over_both_forms_only() {
    let Clients { tables, orders_2, .. } = mixed(0..4).await;
    let year = Order::partition("oslo", 2000_u32);
    let token = orders_2.list(&year).pages(2).next().await.unwrap().unwrap().next.unwrap();
    let filtered = orders_2.list(&year).filter(|order| order.cents.gt(0)).pages(2);
    let refused = filtered.resume(token.clone()).next().await;
    assert!(matches!(refused, Err(Error::Token(TokenError::OtherQuery))), "{refused:?}");
    // Version 3 has the same keys, and other tokens.
    let mut pages = tables.repo::<Last>().list(Last::partition("oslo", 2000_u32)).pages(1);
    let own = pages.next().await.unwrap().unwrap().next;
    let refused = pages.resume(token).next().await;
    assert!(matches!(refused, Err(Error::Token(TokenError::OtherQuery))), "{refused:?}");
    let refused = orders_2.list(&year).pages(1).resume(own.unwrap()).next().await;
    assert!(matches!(refused, Err(Error::Token(TokenError::OtherQuery))), "{refused:?}");
    assert!(matches!(orders_2.list(&year).pages(0).next().await, Err(Error::PageSize(0))));
    assert!(matches!(orders_2.list(&year).pages(1001).next().await, Err(Error::PageSize(1001))));
}

#[tokio::test]
async fn a_stream_gives_more_than_one_page_of_each_form() {
    let Clients { items, items_2, .. } = clients().await;
    let old = (0..900).map(|n| item(n, &format!("{n}")).into());
    items.insert_many(old).await.all().unwrap();
    let new = (900..1300).map(|n| item(n, &format!("{n}")));
    assert_eq!(items_2.insert_many(new).await.all().unwrap(), 400);
    let mut stream = items_2.list(Item::partition("oslo")).stream();
    let mut found = Vec::new();
    while let Some(item) = stream.next().await.unwrap() {
        found.push(item.n);
    }
    assert_eq!(found, (0..1300).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_reads_old_rows_from_its_token_on_where_the_keys_sort_alike() {
    let Clients { items, items_2, store, .. } = clients().await;
    for n in 0..30 {
        items.insert(&item(n, &format!("{n}")).into()).await.unwrap();
    }
    store.take();
    let shop = Item::partition("oslo");
    let mut pages = items_2.list(&shop).pages(10);
    let mut found = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        found.extend(page.items.iter().map(|item| item.n));
        // A page of old rows, and one of new rows.
        assert_eq!(store.take(), 2);
    }
    assert_eq!(found, (0..30).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_list_of_a_range_reads_its_old_rows_alone_where_the_keys_sort_alike() {
    let Clients { items, items_2, store, .. } = clients().await;
    let old = (0..900).map(|n| item(n, &format!("{n}")).into());
    items.insert_many(old).await.all().unwrap();
    items_2.migrate(&permit()).in_bulk().await.all().unwrap();
    for n in [500_u32, 501] {
        let held = items_2.load(item_key!(n)).await.unwrap().unwrap();
        items_2.delete(held).await.unwrap();
    }
    store.take();
    let shop = Item::partition("oslo");
    let some = items_2.list(shop.row().n_in(498..504)).await.unwrap();
    assert_eq!(some.iter().map(|item| item.n).collect::<Vec<_>>(), [498, 499, 502, 503]);
    assert_eq!(store.take(), 2);
}

#[tokio::test]
async fn what_is_read_is_collected_as_from_a_repo() {
    let Clients { orders_2, .. } = mixed(0..4).await;
    let year = Order::partition("oslo", 2000_u32);
    let all = orders_2.list(&year).collect().await.unwrap();
    assert_eq!(all.len(), 4);
    assert_eq!(orders_2.list(&year).await.unwrap(), all);
    assert_eq!(orders_2.list_many([&year]).collect().await.unwrap(), all);
    assert_eq!(orders_2.scan(&permit()).collect().await.unwrap(), all);
    let error = orders_2.list(&year).one().await.unwrap_err();
    assert!(matches!(error, Error::RowCount(_)), "{error}");
    assert_eq!(orders_2.list_many([&year]).first().await.unwrap().as_ref(), Some(&all[0]));
    assert_eq!(orders_2.list_many([&year, &year]).count().await.unwrap(), 8);
    let many = orders_2.get_many([3_u32, 9, 0].map(|n| year.by_number().n(n))).await.unwrap();
    assert_eq!(many, [Some(all[3].clone()), None, Some(all[0].clone())]);
    assert!(orders_2.list(&year).exists().await.unwrap());
    assert!(!orders_2.list(Order::partition("rome", 2000_u32)).exists().await.unwrap());
    let cents = all[1].cents;
    let one = orders_2.list(&year).filter(|order| order.cents.eq(cents)).one().await;
    assert_eq!(one.unwrap(), all[1]);
}

#[tokio::test]
async fn a_limit_of_nothing_sends_nothing() {
    let Clients { orders_2, store, .. } = mixed(0..4).await;
    let year = Order::partition("oslo", 2000_u32);
    let token = orders_2.list(&year).pages(2).next().await.unwrap().unwrap().next.unwrap();
    store.take();
    assert_eq!(orders_2.list(&year).take(0).await.unwrap(), []);
    let mut pages = orders_2.list(&year).take(0).pages(2);
    assert_eq!(pages.next().await.unwrap(), None);
    let mut pages = orders_2.list(&year).take(0).pages(2).resume(token);
    assert_eq!(pages.next().await.unwrap(), None);
    assert_eq!(store.take(), 0);
}

#[tokio::test]
async fn several_lists_are_read_at_once_in_the_order_of_their_queries_or_of_a_key() {
    let Clients { orders_1, orders_2, .. } = mixed((0..10).chain(1000..1010)).await;
    let years = || [2001_u32, 2000].map(|year| Order::partition("oslo", year));
    for client in [&orders_1, &orders_2] {
        let all = client.list_many(years());
        let both = (1000..1010).chain(0..10).collect::<Vec<_>>();
        assert_eq!(numbers(&all.clone().await.unwrap()), both);
        let sent = all.clone().filter(|order| order.state.eq("sent")).take_each(2);
        assert_eq!(numbers(&sent.clone().await.unwrap()), [1002, 1005, 0, 3]);
        let mut stream = sent.clone().stream();
        let mut found = Vec::new();
        while let Some(order) = stream.next().await.unwrap() {
            found.push(order.n);
        }
        assert_eq!(found, [1002, 1005, 0, 3]);
        let mut merged = sent.merge_by(|order| order.n % 1000);
        found.clear();
        while let Some(order) = merged.next().await.unwrap() {
            found.push(order.n);
        }
        assert_eq!(found, [0, 1002, 3, 1005]);
    }
}

/// A list that is asked for in pages while entities move.
#[derive(Debug)]
struct Asked {
    seed: u64,
    size: usize,
    by_state: bool,
    least: i64,
    moves: Vec<u32>,
}

async fn pages_are_the_list(stored: BTreeMap<u32, (bool, i64)>, asked: Asked) {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    let short = Faults::seeded(asked.seed).short_pages(0.7).store(memory).unwrap();
    let Clients { orders_1, orders_2, .. } = clients_over(Arc::new(short)).await;
    let mut all = Vec::new();
    for (&n, &(is_old, cents)) in &stored {
        let state = if cents % 2 == 0 { "even" } else { "odd" };
        let order = Order { state: state.into(), ..order(n, cents) };
        if is_old { &orders_1 } else { &orders_2 }.insert(&order).await.unwrap();
        all.push(order);
    }
    all.retain(|order| order.cents >= asked.least);
    if asked.by_state {
        all.sort_by_key(|order| (order.state.clone(), order.n));
    }
    let year = Order::partition("oslo", 2000_u32);
    let (mut found, mut token) = (Vec::new(), None);
    for page in 0.. {
        // What moves may have been given, or will be.
        if let Some(&n) = asked.moves.get(page)
            && stored.contains_key(&n)
        {
            orders_2.update(order_key!(n), |_| ()).await.unwrap();
        }
        macro_rules! next {
            ($query:expr) => {{
                let list = orders_1.list($query).filter(|order| order.cents.ge(asked.least));
                let pages = list.pages(asked.size);
                let mut pages = token.into_iter().fold(pages, |pages, token| pages.resume(token));
                pages.next().await.unwrap().unwrap()
            }};
        }
        let page = if asked.by_state { next!(year.by_state()) } else { next!(&year) };
        token = page.next.clone();
        assert!(page.len() == asked.size || token.is_none());
        found.extend(page.items);
        if token.is_none() {
            break;
        }
    }
    assert_eq!(found, all);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(support::dose(16, 400)))]

    #[test]
    fn the_pages_of_a_list_are_the_list_while_entities_move(
        stored in btree_map(0..60_u32, (any::<bool>(), 0..6_i64), 0..40),
        (seed, size, by_state, least) in (any::<u64>(), 1..9_usize, any::<bool>(), 0..3_i64),
        moves in vec(0..60_u32, 0..12),
    ) {
        let asked = Asked { seed, size, by_state, least, moves };
        support::on_virtual_time(pages_are_the_list(stored, asked));
    }
}

/// Notices a query that a copy in another region may answer.
#[derive(Debug)]
struct Regions {
    inner: EmbeddedStore,
    may_be_old: AtomicBool,
}

impl Middleware for Regions {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.may_be_old.fetch_or(query.mark.may_be_old, Relaxed);
        self.inner.query(query).await
    }
}

#[tokio::test]
async fn no_list_reads_a_copy_in_another_region_where_an_entity_may_not_have_moved() {
    let inner = EmbeddedStore::in_memory().unwrap();
    let regions = Arc::new(Regions { inner, may_be_old: AtomicBool::new(false) });
    let Clients { orders, orders_2, .. } = clients_over(regions.clone()).await;
    orders.insert(&order(1, 1).into()).await.unwrap();
    orders_2.insert(&order(2, 2)).await.unwrap();
    let year = Order::partition("oslo", 2000_u32);
    assert_eq!(orders_2.list(&year).await.unwrap().len(), 2);
    assert_eq!(orders_2.list(&year).pages(1).next().await.unwrap().unwrap().len(), 1);
    assert_eq!(orders_2.list(&year).first().await.unwrap().unwrap().n, 1);
    assert_eq!(orders_2.list(&year).count().await.unwrap(), 2);
    assert_eq!(orders_2.scan(&permit()).await.unwrap().len(), 2);
    assert!(!regions.may_be_old.load(Relaxed));
    // A list of one form may read it.
    assert_eq!(orders.list(OrderV1::partition("oslo")).count().await.unwrap(), 1);
    assert!(regions.may_be_old.load(Relaxed));
}
