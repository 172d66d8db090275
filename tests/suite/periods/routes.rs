//! Each entity is in the table of its period, whatever writes it.

use super::{Reading, in_memory, instant, noting, reading};
use std::sync::Arc;
use table_orm::accounts::Accounts;
use table_orm::embedded::EmbeddedStore;
use table_orm::model::DateTime;
use table_orm::repo::TransactionError;
use table_orm::store::Store;
use table_orm::{Error, Repo, ScanPermit, TableEntity, TableName, Tables};
use time::OffsetDateTime;

macro_rules! of_length {
    ($name:ident, $bucket:ident) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table(name = "events", partition = "{id}", row = "{at}", bucket($bucket, at))]
        struct $name {
            id: u32,
            at: DateTime,
        }
    };
}

of_length!(Hourly, hour);
of_length!(Daily, day);
of_length!(Monthly, month);
of_length!(Yearly, year);

#[tokio::test]
async fn a_table_is_named_by_the_hour_day_month_or_year_in_utc() {
    let tables = Tables::in_memory().unwrap();
    let at: DateTime = "2024-02-29T23:59:59.9999999Z".parse().unwrap();
    let name = |table: &TableName| table.as_str().to_owned();
    tables.periods().insert(&Hourly { id: 1, at }).await.unwrap();
    tables.periods().insert(&Daily { id: 1, at }).await.unwrap();
    tables.periods().insert(&Monthly { id: 1, at }).await.unwrap();
    tables.periods().insert(&Yearly { id: 1, at }).await.unwrap();
    let names: Vec<_> = tables.list().await.unwrap().iter().map(name).collect();
    assert_eq!(names, ["events2024", "events202402", "events20240229", "events2024022923"]);
    // Types of one name know their own tables by the length.
    assert_eq!(tables.periods::<Daily>().existing().await.unwrap()[0].to_string(), "20240229");
    assert_eq!(tables.periods::<Daily>().existing().await.unwrap().len(), 1);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "{at}", bucket(day, at))]
struct Visit {
    page: String,
    at: OffsetDateTime,
}

#[tokio::test]
async fn the_day_is_that_of_utc_whatever_the_offset_of_the_time() {
    let visits = Tables::in_memory().unwrap().periods::<Visit>();
    let offset = time::UtcOffset::from_hms(-9, 0, 0).unwrap();
    let at = OffsetDateTime::from_unix_timestamp(1_794_000_000).unwrap().to_offset(offset);
    let visit = Visit { page: "home".to_owned(), at };
    visits.insert(&visit).await.unwrap();
    let days = visits.existing().await.unwrap();
    assert_eq!(
        days[0].start(),
        DateTime::from(table_orm::periods::Period::of(days[0].bucket(), at.try_into().unwrap()))
    );
    assert_eq!(visits.at(at).list(Visit::partition("home")).one().await.unwrap(), visit);
}

#[tokio::test]
async fn a_time_that_the_service_cannot_store_fails_the_write_and_sends_nothing() {
    let (tables, sent) = noting(EmbeddedStore::in_memory().unwrap());
    let at = OffsetDateTime::from_unix_timestamp(-20_000_000_000).unwrap();
    let visit = Visit { page: "home".to_owned(), at };
    let error = tables.periods::<Visit>().insert(&visit).await.unwrap_err();
    assert!(error.is_client_error(), "{error}");
    assert_eq!(sent.take(), Vec::<String>::new());
}

/// Each way to write an entity through the repository of one table.
async fn write_each_way(repo: &Repo<Reading>, one: &Reading) -> Vec<Result<(), Error>> {
    let key = Reading::partition("roof").by_time().at(one.at);
    let etag = table_orm::ETag::new("W/\"1\"");
    let many = repo.insert_many([one.clone()]).await.failures;
    let upserts = repo.upsert_many([one.clone()]).await.failures;
    let writer = repo.writer().await.unwrap();
    let sent = writer.send(one.clone()).await;
    let _ = writer.close().await.unwrap();
    vec![
        repo.insert(one).await.map(drop),
        repo.insert_loaded(one).await.map(drop),
        repo.upsert(one).await.map(drop),
        repo.insert_or_merge(one).await.map(drop),
        repo.replace(one, &etag).await.map(drop),
        repo.force_replace(one).await.map(drop),
        repo.force_delete(one).await,
        repo.update(key, |_| {}).or_insert_with(|| one.clone()).await.map(drop),
        many.into_iter().next().map_or(Ok(()), |failure| Err(failure.error)),
        upserts.into_iter().next().map_or(Ok(()), |failure| Err(failure.error)),
        sent,
    ]
}

#[tokio::test]
async fn no_write_puts_an_entity_into_the_table_of_another_period() {
    let (readings, _) = in_memory();
    let november = readings.at(instant("2026-11-23"));
    for answer in write_each_way(&november, &reading("2026-10-23", 1)).await {
        let error = answer.unwrap_err();
        let Error::PeriodMismatch(other) = &error else { panic!("{error}") };
        assert_eq!(
            (other.table.as_str(), other.period.to_string().as_str()),
            ("readings202611", "202610")
        );
        assert!(error.is_client_error());
    }
    // Nor into a table of no period.
    let (tables, _) = noting(EmbeddedStore::in_memory().unwrap());
    let archive = tables.repo_in::<Reading>(TableName::new("archive").unwrap());
    let error = archive.insert(&reading("2026-10-23", 1)).await.unwrap_err();
    assert!(matches!(error, Error::PeriodMismatch(_)), "{error}");
    assert_eq!(readings.existing().await.unwrap(), []);
}

#[tokio::test]
async fn a_save_into_another_period_is_refused_and_says_what_to_do() {
    let (readings, _) = in_memory();
    let stored = reading("2026-11-23", 1);
    let mut loaded = readings.insert_loaded(&stored).await.unwrap();
    loaded.at = instant("2026-12-01");
    let error = readings.save(&mut loaded).await.unwrap_err();
    assert!(matches!(error, Error::PeriodMismatch(_)), "{error}");
    assert!(error.to_string().contains("insert it with its new time, then delete the old one"));
    assert_eq!(readings.of(&stored).list(Reading::partition("roof")).one().await.unwrap(), stored);
    let update = readings
        .of(&stored)
        .update(Reading::partition("roof").by_time().at(stored.at), |reading| {
            reading.at = instant("2026-12-01")
        });
    assert!(matches!(update.await.unwrap_err(), Error::PeriodMismatch(_)));
    // The way that the error names: the loaded entity still deletes the stored one.
    readings.insert(&loaded).await.unwrap();
    readings.delete(loaded).await.unwrap();
    assert_eq!(readings.of(&stored).list(Reading::partition("roof")).count().await.unwrap(), 0);
    assert_eq!(
        readings.at(instant("2026-12-01")).list(Reading::partition("roof")).count().await.unwrap(),
        1
    );
}

#[tokio::test]
async fn a_save_within_the_period_moves_rows_as_in_one_table() {
    let (readings, sent) = in_memory();
    let mut loaded = readings.insert_loaded(&reading("2026-11-23", 1)).await.unwrap();
    sent.take();
    loaded.at = instant("2026-11-30");
    readings.save(&mut loaded).await.unwrap();
    assert_eq!(sent.take(), ["commit readings202611"]);
}

#[tokio::test]
async fn a_value_is_unique_within_a_partition_of_one_period() {
    let (readings, _) = in_memory();
    let with_serial = |day, id| Reading { serial: Some(7), ..reading(day, id) };
    readings.insert(&with_serial("2026-11-23", 1)).await.unwrap();
    readings.insert(&with_serial("2026-12-23", 2)).await.unwrap();
    let again = readings.insert(&with_serial("2026-12-24", 3)).await.unwrap_err();
    assert!(matches!(again, Error::UniqueViolation { .. }), "{again}");
}

#[tokio::test]
async fn many_entities_go_to_their_tables_in_as_many_requests_as_by_table() {
    let (readings, sent) = in_memory();
    let all: Vec<_> = (0..300)
        .map(|id| reading(&format!("2026-{:02}-{:02}", id % 12 + 1, id / 12 + 1), id))
        .collect();
    let mut counts = Vec::new();
    let written =
        readings.insert_many(all.clone()).on_progress(|now| counts.push(now.entities)).await;
    assert_eq!(written.all().unwrap().entities, 300);
    assert!(counts.is_sorted() && counts.last() == Some(&300), "{counts:?}");
    // One transaction for each of the twelve tables, twice, and a creation.
    assert_eq!(sent.take().len(), 36);
    for month in readings.existing().await.unwrap() {
        let stored = readings.at(month).list(Reading::partition("roof")).count().await.unwrap();
        assert_eq!(stored, 25);
    }
    let year = readings.during(instant("2026-01-01")..instant("2027-01-01"));
    let mut loaded = Vec::new();
    for repo in year.repos().unwrap() {
        let list = repo.list(Reading::partition("roof")).collect().await.unwrap();
        for one in list.into_iter().take(2) {
            loaded.push(
                repo.load(Reading::partition("roof").by_time().at(one.at))
                    .await
                    .unwrap()
                    .one()
                    .unwrap(),
            );
        }
    }
    readings.delete_many(loaded).await.all().unwrap();
    assert_eq!(year.list(Reading::partition("roof")).count().await.unwrap(), 276);
}

#[tokio::test]
async fn a_failure_stops_many_writes_and_the_report_lists_each_entity_once() {
    let (readings, _) = in_memory();
    readings.insert(&reading("2026-02-01", 1)).await.unwrap();
    let all = || (1..=6).map(|month| reading(&format!("2026-{month:02}-01"), month));
    let report = readings.insert_many(all()).parallelism(1).await;
    assert_eq!((report.written.entities, report.failures.len()), (1, 1));
    let rest: Vec<_> = report.remainder.map(|reading| reading.id).collect();
    assert_eq!(rest, [3, 4, 5, 6]);
    let report = readings.insert_many(all().skip(1)).continue_on_failure().await;
    assert_eq!((report.written.entities, report.failures.len()), (4, 1));
    assert_eq!(readings.existing().await.unwrap().len(), 6);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "readings", partition = "{sensor}", row = "INFO")]
struct Sensor {
    sensor: String,
}

#[tokio::test]
async fn a_transaction_is_of_one_period_and_of_types_with_periods() {
    let (readings, sent) = in_memory();
    let november = instant("2026-11-23");
    let roof = || readings.transaction(november, Reading::partition("roof"));
    roof()
        .insert(&reading("2026-11-23", 1))
        .insert(&reading("2026-11-24", 2))
        .commit()
        .await
        .unwrap();
    sent.take();
    let two =
        roof().insert(&reading("2026-11-25", 3)).insert(&reading("2026-12-01", 4)).commit().await;
    assert!(matches!(two.unwrap_err(), Error::PeriodMismatch(_)));
    let other = roof().insert(&Sensor { sensor: "roof".to_owned() }).commit().await.unwrap_err();
    assert!(matches!(other, Error::Transaction(TransactionError::NoPeriod { .. })), "{other}");
    assert_eq!(sent.take(), Vec::<String>::new());
    let both = readings.transaction_with(november, Reading::partition("roof"), async |tx| {
        let mut reading =
            tx.load(Reading::partition("roof").by_time().at(november)).await?.unwrap();
        reading.serial = Some(9);
        tx.save(reading);
        Ok(())
    });
    both.await.unwrap();
    let stored = readings.at(november).get(Reading::partition("roof").by_id().id(1)).await.unwrap();
    assert_eq!(stored.unwrap().serial, Some(9));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "orders", partition = "{customer}", bucket(year, at))]
#[row(by_number, key = "N:{number:05}")]
#[row(by_day, key = "D:{at}__{number:05}__{customer}", partition = "all", eventual)]
struct Order {
    customer: String,
    number: u32,
    at: DateTime,
}

#[tokio::test]
async fn rows_in_other_partitions_are_in_the_table_of_the_same_period() {
    let tables = Tables::in_memory().unwrap();
    let orders = tables.periods::<Order>();
    for (day, number) in [("2025-06-01", 1), ("2026-06-01", 2), ("2026-07-01", 3)] {
        let order = Order { customer: "acme".to_owned(), number, at: instant(day) };
        orders.insert(&order).await.unwrap();
    }
    let year = orders.at(instant("2026-01-01"));
    let of_year = year.list(Order::by_day()).collect().await.unwrap();
    assert_eq!(of_year.iter().map(|order| order.number).collect::<Vec<_>>(), [2, 3]);
    let report = year.verify(Order::partition("acme")).await.unwrap();
    assert!(report.findings.is_empty(), "{report:?}");
    assert_eq!(tables.list().await.unwrap().len(), 2);
}

#[tokio::test]
async fn several_accounts_have_the_tables_of_a_period_together() {
    let store = || Arc::new(EmbeddedStore::in_memory().unwrap()) as Arc<dyn Store>;
    let accounts = Accounts::by_partition([store(), store()]).unwrap();
    let readings = Tables::new(accounts).periods::<Reading>();
    for id in 0..20 {
        let sensor = format!("s{id}");
        readings.insert(&Reading { sensor, ..reading("2026-11-23", id) }).await.unwrap();
    }
    let november = readings.at(instant("2026-11-01"));
    assert_eq!(november.scan(ScanPermit::because("test")).collect().await.unwrap().len(), 20);
    assert_eq!(readings.retain(1, instant("2027-11-23")).await.all().unwrap().drops.len(), 1);
    assert_eq!(readings.existing().await.unwrap(), []);
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "sessions", partition = "{user}", row = "ID:{id:05}", bucket(day, began))]
#[table(expires = until, purge_index)]
struct Session {
    user: String,
    id: u32,
    began: DateTime,
    until: Option<DateTime>,
}

#[tokio::test]
async fn expired_entities_are_left_out_and_purged_in_their_period() {
    let sessions = Tables::in_memory().unwrap().periods::<Session>();
    let (first, last) = (instant("2020-01-01"), instant("2020-01-03"));
    let day = 864_000_000_000;
    for id in 0..3 {
        let began = DateTime::from_ticks(first.ticks() + i64::from(id) * day).unwrap();
        for (user, until) in [("ann", Some(began)), ("bob", None)] {
            sessions.insert(&Session { user: user.to_owned(), id, began, until }).await.unwrap();
        }
    }
    let days = sessions.during(first..=last);
    assert_eq!(days.list(Session::partition("ann")).collect().await.unwrap(), []);
    assert_eq!(days.list(Session::partition("bob")).count().await.unwrap(), 3);
    assert_eq!(sessions.at(first).purge().await.all().unwrap().purged, 1);
    let with_expired = sessions.at(first).including_expired();
    assert!(!with_expired.list(Session::partition("ann")).exists().await.unwrap());
    let later = sessions.at(last).including_expired();
    assert!(later.list(Session::partition("ann")).exists().await.unwrap());
}
