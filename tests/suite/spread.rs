//! Rows that are written in the order of time, over the sixty partitions of each day.

// Each attribute describes another row.
#![allow(clippy::duplicated_attributes)]

use proptest::prelude::*;
use support::on_virtual_time;
use support::recorder::recorded;
use table_orm::model::DateTime;
use table_orm::{Error, TableEntity, Tables};
use time::{Duration, OffsetDateTime};

/// Of one row, which starts with the time.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{slot}", row = "{at}__{sensor}")]
#[component(slot = spread(at, second))]
struct Reading {
    at: OffsetDateTime,
    sensor: u32,
}

/// Of several rows, with another component in the partition, and with rows in other partitions.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "passes", partition = "{course}__{slot}")]
#[row(by_bib, key = "BIB:{bib:05}__{at}")]
#[row(newest, key = "NEW:{down}__{bib:05}", include(course))]
#[row(by_gate, partition = "G{gate}_{slot}", key = "AT:{at}__{bib:05}__{course}", eventual)]
#[component(slot = spread(at, second), down = desc(at))]
struct Pass {
    course: String,
    at: DateTime,
    bib: u32,
    gate: u8,
}

fn gun() -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(1_320_588_600).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_range_of_time_holds_the_rows_of_that_time_in_its_order(
        millis in prop::collection::btree_set(0_i64..200_000, 1..60),
        start in -10_000_i64..210_000,
        length in 0_i64..100_000,
        size in 1_usize..20,
    ) {
        on_virtual_time(async {
            let readings = Tables::in_memory().unwrap().repo::<Reading>();
            readings.create_table().await.unwrap();
            let at = |millis: i64| gun() + Duration::milliseconds(millis);
            let reading = |millis: &i64| Reading { at: at(*millis), sensor: 7 };
            readings.insert_many(millis.iter().map(reading).collect::<Vec<_>>()).await.all().unwrap();

            let expected: Vec<_> = millis.range(start..start + length).map(reading).collect();
            let range = || Reading::row_in(at(start)..at(start + length));
            let mut merged = readings.list_many(range()).merge_by(|reading| reading.at);
            for reading in &expected {
                assert_eq!(merged.next().await.unwrap().as_ref(), Some(reading));
            }
            assert_eq!(merged.next().await.unwrap(), None);
            let mut paged = readings.list_many(range()).pages(size).collect().await.unwrap();
            paged.sort_by_key(|reading| reading.at);
            assert_eq!(paged, expected);
        });
    }
}

#[tokio::test]
async fn a_range_shorter_than_a_minute_asks_only_the_partitions_of_its_seconds() {
    let (tables, record) = recorded();
    let readings = tables.repo::<Reading>();
    readings.create_table().await.unwrap();
    let range = gun() + Duration::seconds(58)..gun() + Duration::seconds(61);
    readings.list_many(Reading::row_in(range.clone())).collect().await.unwrap();
    let filters: Vec<_> =
        record.take().queries.iter().map(|query| query.filter_text().unwrap()).collect();
    let expected = ["5820111106", "5920111106", "0020111106"].map(|key| {
        format!(
            "((PartitionKey eq '{key}') and (RowKey ge '2011-11-06T14:10:58.0000000Z')) \
             and (RowKey lt '2011-11-06T14:11:01.0000000Z')"
        )
    });
    assert_eq!(filters.len(), 3);
    for (filter, expected) in filters.iter().zip(&expected) {
        let plain = |text: &str| text.replace(['(', ')'], "");
        assert_eq!(plain(filter), plain(expected));
    }
    // All of those partitions, and those of a day.
    assert_eq!(readings.list_many(Reading::partitions(range)).count().await.unwrap(), 0);
    assert_eq!(record.take().queries.len(), 3);
    assert_eq!(Reading::partitions(gun()..gun() + Duration::hours(9)).len(), 60);
    assert_eq!(Reading::partitions(gun()..gun() + Duration::days(1)).len(), 120);
}

#[tokio::test]
async fn rows_newest_first_and_eventual_rows_have_their_ranges_too() {
    let passes = Tables::in_memory().unwrap().repo::<Pass>();
    passes.create_table().await.unwrap();
    let at = |seconds: i64| DateTime::try_from(gun() + Duration::seconds(seconds)).unwrap();
    let pass = |n: u32| Pass { course: "B".into(), at: at(n.into()), bib: n, gate: 1 };
    for n in 0..90 {
        passes.insert(&pass(n)).await.unwrap();
    }
    let one = Pass::partition("B", at(61)).by_bib().bib(61);
    assert_eq!(passes.list(one.at(at(61))).collect().await.unwrap(), [pass(61)]);
    assert_eq!(passes.list(Pass::partition("B", at(61))).count().await.unwrap(), 2);

    #[derive(Debug, PartialEq, table_orm::Projection)]
    #[projection(of = Pass)]
    struct Bib {
        bib: u32,
        at: DateTime,
    }
    let newest = passes.list_many(Pass::newest_in("B", at(55)..=at(65))).project::<Bib>();
    let mut newest = newest.merge_by(|pass| std::cmp::Reverse(pass.at));
    for bib in (55..=65).rev() {
        assert_eq!(newest.next().await.unwrap().map(|pass| pass.bib), Some(bib));
    }
    assert_eq!(newest.next().await.unwrap(), None);

    let gate = Pass::by_gate_partitions(1, at(10)..at(12));
    let gate = gate.into_iter().map(|rows| rows.at_in(at(10)..at(12)));
    let bibs: Vec<_> =
        passes.list_many(gate).collect().await.unwrap().iter().map(|pass| pass.bib).collect();
    assert_eq!(bibs, [10, 11]);
    let gate = passes.list_many(Pass::by_gate_in(1, at(10)..at(12))).collect().await.unwrap();
    assert_eq!(gate, [pass(10), pass(11)]);
}

#[tokio::test]
async fn a_range_without_partitions_is_an_error_that_names_the_component() {
    let readings = Tables::in_memory().unwrap().repo::<Reading>();
    let year = Duration::days(365);
    for (range, message) in [
        (gun()..gun() - year, "starts after it ends"),
        (gun()..gun() + 3 * year, "more than 1000 days"),
    ] {
        let error = readings.list_many(Reading::row_in(range)).collect().await.unwrap_err();
        assert!(matches!(error, Error::Key(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("`slot` of `Reading`") && text.contains(message), "{text}");
    }
    let nothing = readings.list_many(Reading::row_in(gun()..gun()));
    assert_eq!(nothing.collect().await.unwrap(), []);
}

/// Rows in other partitions in a shard of a value that an entity may lack, or has several of.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "parcels", partition = "{customer}", row = "NUM:{number:05}")]
#[row(
    by_courier,
    partition = "C{courier_shard}",
    key = "COURIER:{courier}__{customer}__{number:05}",
    eventual
)]
#[row(
    by_tag, partition = "T{tag_shard}", key = "TAG:{tag}__{customer}__{number:05}", each(tag in tags),
    eventual
)]
#[row(by_time, partition = "S{slot}", key = "SENT:{sent}__{customer}__{number:05}", eventual)]
#[component(courier_shard = shard(courier, 4), tag_shard = shard(tag, 4), slot = spread(sent, second))]
struct Parcel {
    customer: String,
    number: u32,
    courier: Option<String>,
    #[table(json)]
    tags: Vec<String>,
    sent: Option<OffsetDateTime>,
}

#[tokio::test]
async fn a_eventual_row_is_in_the_shard_of_an_optional_value_or_of_an_element() {
    let tables = Tables::in_memory().unwrap();
    let parcels = tables.repo::<Parcel>();
    parcels.create_table().await.unwrap();
    let parcel = |number, courier: Option<&str>, sent| Parcel {
        customer: "acme".into(),
        number,
        courier: courier.map(str::to_owned),
        tags: vec!["fast".into(), format!("tag{number}")],
        sent,
    };
    for number in 0..8 {
        let sent = (number % 2 == 0).then(|| gun() + Duration::seconds(number.into()));
        parcels.insert(&parcel(number, Some(&format!("ann{number}")), sent)).await.unwrap();
    }
    parcels.insert(&parcel(8, None, None)).await.unwrap();
    let courier =
        parcels.get(Parcel::by_courier("ann3").courier("ann3").customer("acme").number(3));
    assert_eq!(courier.await.unwrap().map(|one| one.number), Some(3));
    let couriers = parcels.list_many(Parcel::by_courier_partitions()).collect().await.unwrap();
    assert_eq!(couriers.len(), 8);
    let fast = parcels.list(Parcel::by_tag("fast").tag("fast")).count().await.unwrap();
    assert_eq!(fast, 9);
    let sent = parcels.list(Parcel::by_time(gun())).count().await.unwrap();
    assert_eq!(sent, 1);
    let report = parcels.verify(Parcel::partition("acme")).await.unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
}
