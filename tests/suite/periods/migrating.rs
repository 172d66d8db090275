//! Types with a table for each period whose stored keys change.

use super::instant;
use table_orm::migrate::{MigrationError, StoredForm};
use table_orm::model::{DateTime, Period};
use table_orm::periods::MigratingPeriods;
use table_orm::{Error, ScanPermit, TableEntity, Tables};

/// Both forms share the table of a period.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "AT:{at}", bucket(month, at))]
struct VisitV1 {
    page: String,
    at: DateTime,
    count: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "NEW:{newest}", bucket(month, at), migrate_from = VisitV1)]
#[component(newest = desc(at))]
#[row(by_count, key = "COUNT:{count:08}__{at}")]
struct Visit {
    page: String,
    at: DateTime,
    count: u32,
}

both_ways!(Visit, VisitV1 { page, at, count });

/// Each form has tables of its own, and other partitions.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clicks", partition = "{page}", row = "AT:{at}", bucket(month, at))]
struct ClickV1 {
    page: String,
    at: DateTime,
    count: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clicksnew", partition = "{page}__{at}", row = "C", bucket(month, at), migrate_from = ClickV1)]
struct Click {
    page: String,
    at: DateTime,
    count: u32,
}

both_ways!(Click, ClickV1 { page, at, count });

/// A conversion that moves a day to the next month.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "logs", partition = "{page}", row = "AT:{n:03}", bucket(month, at))]
struct LogV1 {
    page: String,
    n: u32,
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "logs", partition = "{page}", row = "NEW:{n:03}", bucket(month, at), migrate_from = LogV1)]
struct Log {
    page: String,
    n: u32,
    at: DateTime,
}

const MONTH: i64 = 31 * 24 * 60 * 60 * 10_000_000;

impl From<LogV1> for Log {
    fn from(LogV1 { page, n, at }: LogV1) -> Self {
        Self { page, n, at: DateTime::from_ticks(at.ticks() + MONTH).unwrap() }
    }
}

impl From<Log> for LogV1 {
    fn from(Log { page, n, at }: Log) -> Self {
        Self { page, n, at: DateTime::from_ticks(at.ticks() - MONTH).unwrap() }
    }
}

const DAYS: [&str; 4] = ["2026-10-05", "2026-10-06", "2026-11-05", "2026-12-05"];

fn permit() -> ScanPermit {
    ScanPermit::because("a migration")
}

fn visit(day: &str, count: u32) -> Visit {
    Visit { page: "home".to_owned(), at: instant(day), count }
}

fn click(day: &str, count: u32) -> Click {
    Click { page: "home".to_owned(), at: instant(day), count }
}

fn names(periods: &[Period]) -> Vec<String> {
    periods.iter().map(ToString::to_string).collect()
}

async fn visits(tables: &Tables) -> MigratingPeriods<Visit> {
    let old = tables.periods::<VisitV1>();
    for (day, count) in DAYS.into_iter().zip(1..) {
        old.insert(&visit(day, count).into()).await.unwrap();
    }
    tables.migrating_periods().unwrap()
}

#[tokio::test]
async fn each_period_migrates_by_itself() {
    let tables = Tables::in_memory().unwrap();
    let visits = visits(&tables).await;
    let periods = visits.existing().await.unwrap();
    assert_eq!(names(&periods), ["202610", "202611", "202612"]);
    let october = visits.at(periods[0]).unwrap();
    assert_eq!(october.migrate(&permit()).await.all().unwrap(), 2);
    assert!(october.verify_migrated(&permit()).await.unwrap().is_complete());
    assert_eq!(october.retire(&permit()).await.all().unwrap().markers, 2);
    let newest = october.list(Visit::partition("home")).await.unwrap();
    assert_eq!(newest, [visit(DAYS[1], 2), visit(DAYS[0], 1)]);
    let november = visits.at(instant(DAYS[2])).unwrap();
    assert_eq!(november.verify_migrated(&permit()).await.unwrap().unmoved.len(), 1);
    assert_eq!(november.list(Visit::partition("home")).await.unwrap(), [visit(DAYS[2], 3)]);
    // Version 3.
    let by_count = tables.table("visits202610".parse().unwrap());
    let rows = by_count.list("home", "COUNT:".."COUNT;").collect().await.unwrap();
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn an_entity_is_written_in_the_tables_of_its_period_only() {
    let tables = Tables::in_memory().unwrap();
    let visits = visits(&tables).await;
    let november = visits.at(instant(DAYS[2])).unwrap();
    let december = visit(DAYS[3], 9);
    let is_refused = |written: Result<(), Error>| {
        assert!(matches!(written, Err(Error::PeriodMismatch(_))), "{written:?}");
    };
    is_refused(november.insert(&december).await);
    is_refused(november.insert_many([december.clone()]).await.all().map(drop));
    is_refused(november.upsert(&december).await);
    let home = Visit::partition("home");
    is_refused(november.transaction(&home).insert(&december).commit().await);
    for form in [StoredForm::Old, StoredForm::New] {
        let client = november.clone().inserting(form);
        let mut held = client.load(home.row().newest(instant(DAYS[2]))).await.unwrap().unwrap();
        held.at = instant(DAYS[3]);
        is_refused(client.save(&mut held).await);
        let saved = client.transaction(&home).save(&mut held).commit().await;
        let is_key = matches!(saved, Err(Error::Migration(MigrationError::KeyChanged { .. })));
        assert!(is_key, "{saved:?}");
    }
    assert_eq!(november.list(&home).await.unwrap(), [visit(DAYS[2], 3)]);
    // The client of its own period writes it.
    visits.of(&december).unwrap().upsert(&december).await.unwrap();
    let stored = visits.at(december.at).unwrap().list(&home).await.unwrap();
    assert_eq!(stored, [december]);
}

#[tokio::test]
async fn tables_of_either_form_are_created_when_they_are_written() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.periods::<ClickV1>();
    old.insert(&click(DAYS[0], 1).into()).await.unwrap();
    let clicks = tables.migrating_periods::<Click>().unwrap();
    let november = clicks.at(instant(DAYS[2])).unwrap();
    let key = |day: &str| Click::partition("home", instant(day)).row();
    assert_eq!(november.get(key(DAYS[2])).await.unwrap(), None);
    assert_eq!(names(&clicks.existing().await.unwrap()), ["202610"]);
    november.insert(&click(DAYS[2], 2)).await.unwrap();
    let version1 = clicks.clone().inserting(StoredForm::Old);
    let last = click(DAYS[3], 3);
    version1.of(&last).unwrap().insert(&last).await.unwrap();
    assert_eq!(names(&clicks.existing().await.unwrap()), ["202610", "202611", "202612"]);
    for (day, count) in [(DAYS[0], 1), (DAYS[2], 2), (DAYS[3], 3)] {
        let client = clicks.at(instant(day)).unwrap();
        assert_eq!(client.get(key(day)).await.unwrap(), Some(click(day, count)));
        client.migrate(&permit()).await.all().unwrap();
        assert!(client.verify_migrated(&permit()).await.unwrap().is_complete());
        client.retire(&permit()).await.all().unwrap();
        assert_eq!(client.get(key(day)).await.unwrap(), Some(click(day, count)));
    }
    let mut tables: Vec<_> =
        tables.list().await.unwrap().iter().map(|name| name.as_str().to_owned()).collect();
    tables.sort();
    let both = ["202610", "202611", "202612"];
    let expected: Vec<_> = both.iter().map(|period| format!("clicks{period}")).collect();
    let new = both.iter().map(|period| format!("clicksnew{period}"));
    assert_eq!(tables, [expected, new.collect()].concat());
}

#[tokio::test]
async fn a_conversion_that_changes_the_period_moves_nothing() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.periods::<LogV1>();
    let (page, at) = ("home".to_owned(), instant(DAYS[0]));
    old.insert(&LogV1 { page: page.clone(), n: 1, at }).await.unwrap();
    let logs = tables.migrating_periods::<Log>().unwrap();
    let october = logs.at(at).unwrap();
    let report = october.migrate(&permit()).await;
    let reason = &report.skipped[0].reason;
    assert!(matches!(reason, Error::Migration(MigrationError::PeriodDiffers { .. })), "{reason}");
    for form in [StoredForm::Old, StoredForm::New] {
        let client = october.clone().inserting(form);
        let refused = client.insert(&Log { page: page.clone(), n: 2, at }).await.unwrap_err();
        assert!(
            matches!(refused, Error::Migration(MigrationError::PeriodDiffers { .. })),
            "{refused}"
        );
    }
}
