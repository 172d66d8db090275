//! Scans and unions over the tables of a range of time.

use super::{instant, noting};
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::key::KeyFault;
use table_orm::model::DateTime;
use table_orm::query::RowQuery;
use table_orm::store::{ErrorCode, Middleware, Page, Store, StoreError};
use table_orm::{Error, ScanPermit, TableEntity, TableUnion, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "logs", partition = "{host}", row = "A:{id:05}", bucket(month, at))]
struct Access {
    host: String,
    id: u32,
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "logs", partition = "{host}", row = "F:{id:05}", bucket(month, at))]
struct Fault {
    host: String,
    id: u32,
    at: DateTime,
}

#[derive(Debug, PartialEq, TableUnion)]
enum Log {
    Access(Access),
    Fault(Fault),
}

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

fn access(id: u32, day: &str) -> Access {
    Access { host: format!("web-{}", id % 2), id, at: instant(day) }
}

/// Accesses of January and March, a fault of February.
async fn logged(store: impl Store + 'static) -> (Tables, super::Sent) {
    let (tables, sent) = noting(store);
    let accesses = tables.periods::<Access>();
    for (id, day) in [(1, "2026-01-10"), (2, "2026-01-20"), (3, "2026-03-10"), (4, "2026-03-20")] {
        accesses.insert(&access(id, day)).await.unwrap();
    }
    let fault = Fault { host: "web-1".into(), id: 9, at: instant("2026-02-10") };
    tables.periods::<Fault>().insert(&fault).await.unwrap();
    sent.take();
    (tables, sent)
}

fn quarter() -> std::ops::RangeInclusive<DateTime> {
    instant("2026-01-01")..=instant("2026-04-10")
}

#[tokio::test]
async fn a_scan_over_periods_reads_each_entity_once_period_by_period() {
    let (tables, sent) = logged(EmbeddedStore::in_memory().unwrap()).await;
    let accesses = tables.periods::<Access>();
    let ids = |rows: Vec<Access>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    let ordered = |range: std::ops::RangeInclusive<DateTime>| {
        accesses.scan(range, permit()).each(|_, scan| scan.ordered(true))
    };
    // In key order within a table: host, then id. April has no table.
    assert_eq!(ids(ordered(quarter()).collect().await.unwrap()), [2, 1, 4, 3]);
    let newest = accesses.during(quarter()).newest_first().scan(permit());
    let newest = newest.each(|_, scan| scan.ordered(true).filter(|row| row.id.ne(4)));
    assert_eq!(ids(newest.collect().await.unwrap()), [3, 2, 1]);
    assert_eq!(ordered(quarter()).count().await.unwrap().rows, 4);
    sent.take();
    // A table is asked when the rows of the one before were taken.
    let mut rows = ordered(quarter()).stream();
    assert_eq!(rows.next().await.unwrap().map(|row| row.id), Some(2));
    assert!(sent.take().iter().all(|request| request.ends_with("logs202601")));
    while rows.next().await.unwrap().is_some() {}
    assert_eq!(rows.report().rows, 4);
    let january = ordered(instant("2026-01-10")..=instant("2026-01-10"));
    let calls = january.into_calls().unwrap();
    assert_eq!(calls[0].0.to_string(), "202601");
}

#[tokio::test]
async fn a_union_over_periods_reads_the_entities_of_all_its_types() {
    let (tables, _) = logged(EmbeddedStore::in_memory().unwrap()).await;
    let range = tables.periods::<Fault>().during(quarter());
    let union = || range.union::<Log>(Access::partition("web-1"));
    let logs = union().collect().await.unwrap();
    let (first, last) = (access(1, "2026-01-10"), access(3, "2026-03-10"));
    let [Log::Access(one), Log::Fault(fault), Log::Access(three)] = &logs[..] else {
        panic!("{logs:?}")
    };
    assert_eq!((one, fault.id, three), (&first, 9, &last));
    assert_eq!(union().count().await.unwrap(), 3);
    let first_of_each = union().each(|_, list| list.take(1)).collect().await.unwrap();
    assert_eq!(first_of_each.len(), 3);
}

#[tokio::test]
async fn a_range_that_makes_no_sense_scans_nothing() {
    let (tables, sent) = logged(EmbeddedStore::in_memory().unwrap()).await;
    let accesses = tables.periods::<Access>();
    let inverted = || instant("2026-02-01")..=instant("2026-01-01");
    let scanned = accesses.scan(inverted(), permit()).collect().await.unwrap_err();
    let listed = accesses.during(inverted()).union::<Log>(Access::partition("web-1"));
    for error in [scanned, listed.collect().await.unwrap_err()] {
        assert!(matches!(&error, Error::Key(error) if error.fault == KeyFault::InvertedRange));
    }
    assert_eq!(sent.take(), Vec::<String>::new());
}

/// A store that cannot read one table.
#[derive(Debug)]
struct Unreadable(Arc<EmbeddedStore>);

impl Middleware for Unreadable {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        match query.table.as_str() {
            "logs202602" => Err(StoreError::new(ErrorCode::RESOURCE_NOT_FOUND, "no")),
            _ => self.0.query(query).await,
        }
    }
}

#[tokio::test]
async fn a_stream_over_periods_ends_with_its_first_error() {
    let store = Arc::new(EmbeddedStore::in_memory().unwrap());
    let (tables, sent) = logged(Unreadable(store)).await;
    let accesses = tables.periods::<Access>();
    let mut rows = accesses.scan(quarter(), permit()).stream();
    let mut listed = accesses.during(quarter()).list(Access::partition("web-1")).stream();
    let mut union = accesses.during(quarter()).union::<Log>(Access::partition("web-1")).stream();
    for _ in 0..2 {
        assert!(rows.next().await.unwrap().is_some());
    }
    rows.next().await.unwrap_err();
    assert_eq!(rows.next().await.unwrap(), None);
    assert!(listed.next().await.unwrap().is_some());
    listed.next().await.unwrap_err();
    assert_eq!(listed.next().await.unwrap(), None);
    assert!(union.next().await.unwrap().is_some());
    union.next().await.unwrap_err();
    assert_eq!(union.next().await.unwrap(), None);
    assert!(!sent.take().iter().any(|request| request.ends_with("03")));
}
