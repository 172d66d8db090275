//! Lists over the tables of a range of time.

use super::{Reading, in_memory, instant, noting, reading};
use proptest::prelude::*;
use table_orm::embedded::EmbeddedStore;
use table_orm::key::KeyFault;
use table_orm::model::DateTime;
use table_orm::periods::Periods;
use table_orm::query::{PageToken, TokenError};
use table_orm::{Error, Projection, Tables};

const TICKS_PER_DAY: i64 = 864_000_000_000;

/// So many days after the start of 2026.
fn day(days: i64) -> DateTime {
    DateTime::from_ticks(instant("2026-01-01").ticks() + days * TICKS_PER_DAY).unwrap()
}

fn on(days: i64, id: u32) -> Reading {
    Reading { sensor: "roof".to_owned(), at: day(days), id, serial: None, celsius: 20.5 }
}

async fn stored(days: impl IntoIterator<Item = i64>) -> Periods<Reading> {
    let readings = Tables::in_memory().unwrap().periods::<Reading>();
    let all = days.into_iter().zip(1..).map(|(days, id)| on(days, id));
    readings.insert_many(all.collect::<Vec<_>>()).await.all().unwrap();
    readings
}

fn ids(readings: &[Reading]) -> Vec<u32> {
    readings.iter().map(|reading| reading.id).collect()
}

#[derive(Debug, PartialEq, Projection)]
#[projection(of = Reading)]
struct OnlyId {
    id: u32,
}

#[tokio::test]
async fn rows_come_period_by_period_oldest_or_newest_first() {
    // Ids that fall as time grows: key order within a month is not that of time.
    let readings = Tables::in_memory().unwrap().periods::<Reading>();
    for (days, id) in [(5, 9), (6, 8), (40, 7), (41, 6), (100, 5)] {
        readings.insert(&on(days, id)).await.unwrap();
    }
    let roof = Reading::partition("roof");
    let half = readings.during(day(0)..day(180));
    let by_time = half.list(roof.by_time()).collect().await.unwrap();
    assert_eq!(ids(&by_time), [9, 8, 7, 6, 5]);
    let by_id = half.list(roof.by_id()).collect().await.unwrap();
    assert_eq!(ids(&by_id), [8, 9, 6, 7, 5]);
    let newest = half.clone().newest_first();
    assert_eq!(ids(&newest.list(roof.by_id()).collect().await.unwrap()), [5, 6, 7, 8, 9]);
    assert_eq!(newest.list(roof.by_id()).first().await.unwrap().map(|one| one.id), Some(5));
    let mut merged = half.list(roof.by_id()).merge_by(|one| one.id);
    assert_eq!(merged.next().await.unwrap().map(|one| one.id), Some(5));
    let filtered =
        half.list(roof.by_time()).filter(|row| row.at.ge(day(6)).and(row.at.lt(day(41))));
    assert_eq!(ids(&filtered.collect().await.unwrap()), [8, 7]);
    let only = half.list(roof.by_id().id(7)).project::<OnlyId>().collect().await.unwrap();
    assert_eq!(only, [OnlyId { id: 7 }]);
    assert_eq!(half.list(&roof).count().await.unwrap(), 5);
    let periods = newest.periods().unwrap();
    assert_eq!((periods.len(), periods[0].to_string().as_str()), (6, "202606"));
}

#[tokio::test]
async fn a_range_chooses_tables_and_leaves_out_no_row_of_them() {
    let readings = stored([1, 15, 30, 31]).await;
    let roof = Reading::partition("roof");
    let days = |range: std::ops::Range<i64>| readings.during(day(range.start)..day(range.end));
    assert_eq!(days(10..20).list(&roof).count().await.unwrap(), 3);
    let exact = days(10..31).list(roof.by_time().at_in(day(10)..day(31)));
    assert_eq!(ids(&exact.collect().await.unwrap()), [2, 3]);
    // The end of `a..b` is outside.
    let january = readings.existing().await.unwrap()[0];
    let february = january.next().unwrap();
    assert_eq!(readings.during(january..february).periods().unwrap(), [january]);
    assert_eq!(readings.during(january..=february).periods().unwrap(), [january, february]);
    assert_eq!(readings.during(january..january).list(&roof).collect().await.unwrap(), []);
    assert!(readings.during(january..january).list(&roof).pages(5).next().await.unwrap().is_none());
}

#[tokio::test]
async fn a_range_that_makes_no_sense_fails_and_sends_nothing() {
    let (readings, sent) = in_memory();
    let roof = Reading::partition("roof");
    let inverted = readings.during(day(31)..day(0)).list(&roof).collect().await.unwrap_err();
    assert!(matches!(&inverted, Error::Key(error) if error.fault == KeyFault::InvertedRange));
    let all = readings.during(DateTime::MIN..=DateTime::MAX);
    for error in [all.list(&roof).count().await.unwrap_err(), all.repos().unwrap_err()] {
        assert!(
            matches!(&error, Error::Key(error) if error.fault == KeyFault::ManyPeriods(10_000))
        );
        assert!(error.is_client_error());
    }
    let year_0 = time::OffsetDateTime::from_unix_timestamp(-62_167_219_200).unwrap();
    let outside = readings.during(year_0..year_0).periods().unwrap_err();
    assert!(matches!(&outside, Error::Key(error) if error.fault == KeyFault::OutOfRange));
    assert_eq!(sent.take(), Vec::<String>::new());
}

#[tokio::test]
async fn a_stream_asks_a_table_when_its_rows_are_wanted() {
    let (tables, sent) = noting(EmbeddedStore::in_memory().unwrap());
    let readings = tables.periods::<Reading>();
    for days in [10, 40, 70] {
        readings.insert(&on(days, 1)).await.unwrap();
    }
    sent.take();
    let quarter = readings.during(day(0)..day(80)).newest_first();
    let mut rows = quarter.list(Reading::partition("roof")).stream();
    assert_eq!(rows.next().await.unwrap().map(|one| one.at), Some(day(70)));
    drop(rows);
    assert_eq!(sent.take(), ["query readings202603"]);
}

#[tokio::test]
async fn a_token_opens_only_the_range_and_order_that_it_came_from() {
    let readings = stored(0..60).await;
    let roof = Reading::partition("roof");
    let list = |to: i64| readings.during(day(0)..day(to)).list(roof.by_time());
    let first = list(60).pages(10).next().await.unwrap().unwrap();
    let token = first.next.unwrap();
    let refused = [
        list(30).pages(10).resume(token.clone()).next().await.unwrap_err(),
        list(120).pages(10).resume(token.clone()).next().await.unwrap_err(),
        readings
            .during(day(0)..day(60))
            .newest_first()
            .list(roof.by_time())
            .pages(10)
            .resume(token.clone())
            .next()
            .await
            .unwrap_err(),
    ];
    for error in refused {
        assert!(matches!(error, Error::Token(TokenError::OtherQuery)), "{error}");
    }
    assert_eq!(list(60).pages(50).resume(token).next().await.unwrap().unwrap().len(), 50);
}

async fn walk(
    readings: &Periods<Reading>,
    from: i64,
    to: i64,
    newest: bool,
    size: usize,
) -> Vec<Reading> {
    let (mut rows, mut token) = (Vec::new(), None::<PageToken>);
    loop {
        let range = readings.during(day(from)..day(to));
        let range = if newest { range.newest_first() } else { range };
        let mut pages = range.list(Reading::partition("roof").by_id()).pages(size);
        if let Some(token) = token {
            pages = pages.resume(token.to_string().parse().unwrap());
        }
        let Some(page) = pages.next().await.unwrap() else { return rows };
        rows.extend(page.items);
        match page.next {
            Some(next) => token = Some(next),
            None => return rows,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pages_lists_and_counts_hold_each_row_of_the_tables_once_in_order(
        days in prop::collection::btree_set(0_i64..200, 0..40),
        (from, length) in (0_i64..200, 0_i64..200),
        newest in any::<bool>(),
        size in 1_usize..20,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (lists, expected) = runtime.block_on(async {
            let readings = stored(days.iter().copied()).await;
            let to = from + length;
            let range = readings.during(day(from)..day(to));
            let range = if newest { range.newest_first() } else { range };
            let months = range.periods().unwrap();
            let mut expected = Vec::new();
            for month in months {
                let own = days.iter().zip(1..).map(|(days, id)| on(*days, id));
                let is_in = |one: &Reading| one.at >= month.start() && month.next().unwrap().start() > one.at;
                let mut own: Vec<_> = own.filter(is_in).collect();
                own.sort_by_key(|one| one.id);
                expected.extend(own);
            }
            let list = range.list(Reading::partition("roof").by_id());
            let mut streamed = Vec::new();
            let mut stream = range.list(Reading::partition("roof").by_id()).stream();
            while let Some(row) = stream.next().await.unwrap() {
                streamed.push(row);
            }
            let count = range.list(Reading::partition("roof").by_id()).count().await.unwrap();
            let walked = walk(&readings, from, to, newest, size).await;
            ([list.collect().await.unwrap(), streamed, walked], (expected, count))
        });
        prop_assert_eq!(expected.0.len(), expected.1);
        for list in lists {
            prop_assert_eq!(&list, &expected.0);
        }
    }
}

#[test]
fn a_reading_of_noon_is_of_its_day() {
    assert_eq!(reading("2026-01-01", 1).at, day(0));
}
