//! Types with a table for each period.

use crate::subject::{Subject, fresh_name};
use futures_util::future::join_all;
use table_orm::model::DateTime;
use table_orm::periods::Periods;
use table_orm::{ScanPermit, TableEntity, TableName};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{sensor}", bucket(month, at))]
#[row(by_time, key = "AT:{at}")]
#[row(by_id, key = "ID:{id:05}", allow_key_conflict)]
struct Reading {
    sensor: String,
    at: DateTime,
    id: u32,
}

/// A reading of a month of 2026.
fn reading(month: u32, id: u32) -> Reading {
    let at = format!("2026-{month:02}-{:02}T12:00:00.0000000Z", id % 28 + 1).parse().unwrap();
    Reading { sensor: format!("s{}", id % 3), at, id }
}

/// The tables of a connection of its own, as in another process.
fn connect(subject: &Subject, base: &TableName) -> Periods<Reading> {
    subject.tables().periods_in(base.clone()).unwrap()
}

fn fresh_base() -> TableName {
    TableName::new(&format!("{}p", fresh_name())).unwrap()
}

pub async fn have_a_table_once_several_writers_began(subject: Subject) {
    let base = fresh_base();
    let (one, other) = (connect(&subject, &base), connect(&subject, &base));
    let november = one.at(reading(11, 0).at);
    assert_eq!(november.list(Reading::partition("s0")).collect().await.unwrap(), []);
    let absent = november.get(Reading::partition("s0").by_id().id(0)).await.unwrap();
    assert_eq!((absent, one.existing().await.unwrap()), (None, Vec::new()));
    assert!(one.force_delete(&reading(11, 0)).await.unwrap_err().is_not_found());

    // Several in one process, and several in another.
    let all: Vec<_> = (0..12).map(|id| reading(11, id)).collect();
    let writes = all.iter().map(|reading| {
        let periods = if reading.id % 2 == 0 { &one } else { &other };
        periods.insert(reading).into_future()
    });
    for written in join_all(writes).await {
        written.unwrap();
    }
    let stored = november.scan(ScanPermit::because("conformance")).collect().await.unwrap();
    assert_eq!(stored.len(), 12);
    assert_eq!(one.existing().await.unwrap().len(), 1);
}

pub async fn are_read_in_order_and_dropped_whole(subject: Subject) {
    let readings = connect(&subject, &fresh_base());
    let all = (1..=4)
        .filter(|month| *month != 3)
        .flat_map(|month| (0..12).map(move |id| reading(month, 100 * month + id)));
    readings.insert_many(all.collect::<Vec<_>>()).await.all().unwrap();
    let year = readings.during(reading(1, 0).at..=reading(12, 0).at).newest_first();
    let list = || year.list(Reading::partition("s1").by_id());
    let ids = |rows: Vec<Reading>| rows.into_iter().map(|one| one.id).collect::<Vec<_>>();
    let in_order = ids(list().collect().await.unwrap());
    let expected = [4, 2, 1].map(|month| (100 * month..100 * month + 12).filter(|id| id % 3 == 1));
    assert_eq!(in_order, expected.into_iter().flatten().collect::<Vec<_>>());
    let first = list().pages(5).next().await.unwrap().unwrap();
    let rest = list().pages(5).resume(first.next.clone().unwrap()).collect().await.unwrap();
    assert_eq!([ids(first.items), ids(rest)].concat(), in_order);

    let old = readings.retain(3, reading(4, 0).at);
    assert_eq!(old.plan().await.unwrap().drops.len(), 1);
    assert_eq!(old.await.all().unwrap().keeps.len(), 2);
    assert_eq!(list().count().await.unwrap(), 8);
}
