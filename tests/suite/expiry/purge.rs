//! A purge deletes what has expired, with all its rows, and nothing else.

use super::{Clock, on, tables};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use table_orm::embedded::EmbeddedStore;
use table_orm::model::DateTime;
use table_orm::query::RowQuery;
use table_orm::store::{ErrorCode, Middleware, Page, Store, StoreError};
use table_orm::{Error, Repo, ScanPermit, TableEntity, TableName, Tables};
use time::{Duration, OffsetDateTime};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "carts", partition = "{shop}", unique(code), unique(email, across))]
#[table(expires = until, purge_index)]
#[row(by_id, key = "ID:{id:05}__{owner}")]
#[row(by_owner, key = "OWNER:{owner}__{id:05}", exclude(code))]
#[row(by_city, partition = "{city}", key = "CART:{id:05}__{owner}__{shop}", eventual)]
struct Cart {
    shop: String,
    id: u32,
    owner: String,
    code: Option<String>,
    email: Option<String>,
    city: String,
    until: Option<OffsetDateTime>,
}

fn cart(id: u32, until: impl Into<Option<OffsetDateTime>>) -> Cart {
    Cart {
        shop: format!("shop{}", id % 3),
        id,
        owner: format!("owner{}", id % 7),
        code: Some(format!("code{id}")),
        email: Some(format!("{id}@example.org")),
        city: format!("city{}", id % 2),
        until: until.into(),
    }
}

/// The keys of all rows, those of helper rows included.
async fn rows(tables: &Tables) -> Vec<(String, String)> {
    let permit = ScanPermit::because("test");
    let rows = tables.scan(TableName::new("carts").unwrap(), permit).collect().await.unwrap();
    rows.into_iter().map(|row| (row.partition_key, row.row_key)).collect()
}

async fn carts() -> (Tables, Repo<Cart>, Clock) {
    let (tables, clock) = tables();
    let carts = tables.repo::<Cart>();
    carts.create_table().await.unwrap();
    (tables, carts, clock)
}

async fn ids(carts: &Repo<Cart>) -> BTreeSet<u32> {
    let all = carts.including_expired().scan(ScanPermit::because("test")).collect().await.unwrap();
    all.into_iter().map(|cart| cart.id).collect()
}

#[tokio::test]
async fn a_purge_deletes_expired_entities_with_all_their_rows_and_values() {
    let (tables, carts, clock) = carts().await;
    for id in 0..40 {
        let until = (id % 4 != 3).then(|| clock.after(10 * i64::from(id % 4)));
        carts.insert(&cart(id, until)).await.unwrap();
    }
    clock.pass(Duration::seconds(10));
    let report = carts.purge().await.all().unwrap();
    assert_eq!((report.purged, report.changed, report.settled, report.unsettled), (20, 0, 0, 0));
    assert!(!report.is_limited, "{report:?}");
    assert_eq!(ids(&carts).await, (0..40).filter(|id| id % 4 > 1).collect());
    // Two rows and a guard at home, a guard elsewhere, a copy elsewhere, and a row of the index for those that expire.
    assert_eq!(rows(&tables).await.len(), 20 * 5 + 10);
    let again = carts.purge().await.all().unwrap();
    assert_eq!((again.purged, again.requests), (0, 16));
    clock.pass(Duration::seconds(10));
    assert_eq!(carts.purge().await.all().unwrap().purged, 10);
    assert_eq!(rows(&tables).await.len(), 10 * 5);
    let permit = || ScanPermit::because("test");
    assert!(carts.verify_table(permit()).await.unwrap().findings.is_empty());
    assert!(carts.verify_eventual_table::<CartExpiry>(permit()).await.unwrap().findings.is_empty());
}

#[tokio::test]
async fn a_purge_shares_requests_among_entities() {
    let (_, carts, clock) = carts().await;
    let plain = |id| Cart { email: None, city: "x".into(), ..cart(id, clock.after(1)) };
    carts.insert(&plain(1)).await.unwrap();
    clock.pass(Duration::seconds(1));
    let one = carts.purge().await.all().unwrap();
    // 16 queries; get, delete and clear; of the row of the index and the other row in another partition a ticket and a
    // transaction each; and a reading of home.
    assert_eq!((one.purged, one.requests), (1, 16 + 8), "{one:?}");
    for id in 0..300 {
        carts.insert(&plain(3 * id)).await.unwrap();
    }
    clock.pass(Duration::seconds(1));
    let many = carts.purge().await.all().unwrap();
    assert_eq!(many.purged, 300);
    assert!(many.requests < 16 + 2 * 300, "{many:?}");
}

#[tokio::test]
async fn a_purge_stops_at_its_limit_and_the_next_one_goes_on() {
    let (_, carts, clock) = carts().await;
    for id in 0..20 {
        carts.insert(&cart(id, clock.after(1))).await.unwrap();
    }
    clock.pass(Duration::seconds(1));
    let mut purged = Vec::new();
    loop {
        let report = carts.purge().limit(7).await.all().unwrap();
        purged.push(report.purged);
        if !report.is_limited {
            break;
        }
    }
    assert_eq!(purged.iter().sum::<u64>(), 20);
    assert!(purged.iter().all(|purged| *purged <= 7), "{purged:?}");
}

#[tokio::test]
async fn a_purge_leaves_what_expired_later_than_it_says() {
    let (_, carts, clock) = carts().await;
    carts.insert(&cart(1, clock.after(10))).await.unwrap();
    carts.insert(&cart(2, clock.after(20))).await.unwrap();
    carts.insert(&cart(3, clock.after(30))).await.unwrap();
    let before = clock.after(15).try_into().unwrap();
    clock.pass(Duration::seconds(20));
    assert_eq!(carts.purge().before(before).await.all().unwrap().purged, 1);
    // Nothing is purged before it has expired.
    let before = clock.after(100).try_into().unwrap();
    assert_eq!(carts.purge().before(before).await.all().unwrap().purged, 1);
    assert_eq!(ids(&carts).await, [3].into());
}

#[tokio::test]
async fn a_key_that_the_index_cannot_hold_is_an_error_and_nothing_is_written() {
    let (tables, carts, clock) = carts().await;
    let odd = Cart { shop: "a~~b".into(), ..cart(1, clock.after(1)) };
    assert!(matches!(carts.insert(&odd).await, Err(Error::Key(_))));
    assert!(rows(&tables).await.is_empty());
    // What never expires has no row of the index.
    carts.insert(&Cart { until: None, ..odd }).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_purge_keeps_its_rate() {
    let start = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
    let now = DateTime::try_from(start).unwrap();
    let store = EmbeddedStore::in_memory().unwrap();
    let tables = Tables::builder(store).bare().clock(move || now).build().unwrap();
    let carts = tables.on_virtual_time(1).repo::<Cart>();
    carts.create_table().await.unwrap();
    for id in 0..40 {
        carts.insert(&cart(id, start - Duration::HOUR)).await.unwrap();
    }
    let began = tokio::time::Instant::now();
    assert_eq!(carts.purge().rate(10).await.all().unwrap().purged, 40);
    let took = began.elapsed().as_secs_f64();
    // Those of the last partition of the index begin at the end.
    assert!((3.0..=4.5).contains(&took), "{took} s");
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "links", partition = "{path}", row = "LINK:{name}", escape = encode)]
#[table(expires = until, purge_index)]
struct Link {
    path: String,
    name: String,
    until: OffsetDateTime,
}

/// A store that does not answer the ninth reading of the index.
#[derive(Debug)]
struct Silent {
    inner: Arc<EmbeddedStore>,
    readings: AtomicU64,
}

impl Middleware for Silent {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let is_of_index = format!("{:?}", query.keys.row).contains("EXP:");
        if is_of_index && self.readings.fetch_add(1, Relaxed) == 8 {
            return Err(StoreError::new(ErrorCode::NO_ANSWER, "silent"));
        }
        self.inner.query(query).await
    }
}

#[tokio::test]
async fn a_purge_that_an_error_ends_reports_what_it_did() {
    let memory = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (tables, clock) = on(memory.clone());
    let links = tables.repo::<Link>();
    links.create_table().await.unwrap();
    let until = clock.after(1);
    for n in 0..60 {
        links.insert(&Link { path: "a".into(), name: format!("{n}"), until }).await.unwrap();
    }
    clock.pass(Duration::seconds(2));
    // The purge has 16 partitions of the index to read.
    let faults = Silent { inner: memory, readings: AtomicU64::new(0) };
    let now = clock.clone();
    let now = move || DateTime::try_from(now.now()).unwrap();
    let faulty = Tables::builder(faults).bare().clock(now).build().unwrap();
    let stopped = faulty.repo::<Link>().purge().await;
    let purged = stopped.progress.purged;
    assert!(purged > 0 && purged < 60, "{stopped:?}");
    assert!(stopped.progress.requests > purged, "{stopped:?}");
    assert!(stopped.all().unwrap_err().is_unavailable());
    assert_eq!(links.purge().await.all().unwrap().purged, 60 - purged);
}

#[tokio::test]
async fn a_purge_finds_keys_of_any_text() {
    let (tables, clock) = tables();
    let links = tables.repo::<Link>();
    links.create_table().await.unwrap();
    let until = clock.after(1);
    for text in ["a/b", "~", "~~", "a~", "~~a", "#?\\", ""] {
        let (path, name) = (text.to_owned(), text.chars().rev().collect());
        links.insert(&Link { path, name, until }).await.unwrap();
    }
    clock.pass(Duration::seconds(2));
    assert_eq!(links.purge().await.all().unwrap().purged, 7);
    let permit = ScanPermit::because("test");
    let rows = tables.scan(TableName::new("links").unwrap(), permit).collect().await.unwrap();
    assert_eq!(rows, []);
}
