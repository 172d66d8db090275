//! A profile that knows types by a lock only is that of the types.

// Rows may both be `eventual`: https://github.com/rust-lang/rust-clippy/issues/13238.
#![allow(clippy::duplicated_attributes)]

use super::*;
use std::fs;
use table_orm::model::DateTime;
use table_orm::schema_lock::{LockedTypeError, SchemaLock};
use table_orm::{DynamicEntity, KeyPart, TableName, Tables};

/// A member, in the table of the runners, with keys of many shapes.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}", kind = "member", escape = encode)]
#[table(expires = until, unique(card, across, table = "cards"))]
#[row(by_card, key = "MEM:{card}")]
#[row(newest, key = "NEW:{joined_last}__{card}")]
#[row(by_level, key = "LVL:{level}{shirt:02}__{card}", when = Member::is_known)]
#[row(by_club, key = "CLUB:{club}__{card}", each(club in clubs), include())]
#[row(by_city, table = "cities", partition = "CITY:{city}", key = "MEM:{race}__{card}", eventual)]
#[row(by_shirt, partition = "SHIRT:{shirt}", key = "TOP:{shirt:03}__{race}__{card}", eventual)]
#[component(joined_last = desc(joined))]
struct Member {
    race: String,
    card: String,
    joined: DateTime,
    level: Level,
    shirt: u8,
    #[table(json)]
    clubs: Vec<String>,
    city: String,
    until: Option<DateTime>,
}

impl Member {
    fn is_known(&self) -> bool {
        self.shirt > 3
    }
}

#[derive(Debug, Clone, Copy, PartialEq, KeyPart)]
enum Level {
    #[key("am")]
    Amateur,
    #[key("pr")]
    Professional,
}

/// A visit, in a table for each month.
#[derive(Debug, Clone, TableEntity)]
#[table(name = "visits", partition = "{page}", row = "{id:05}", bucket(month, at))]
struct Visit {
    page: String,
    id: u32,
    at: DateTime,
}

fn member(number: u8) -> Member {
    Member {
        race: "Boston".into(),
        card: format!("{number}/\u{e9}__%"),
        joined: "2026-11-01T10:00:00Z".parse().unwrap(),
        level: if number.is_multiple_of(2) { Level::Amateur } else { Level::Professional },
        shirt: number,
        clubs: (0..number % 3).map(|club| format!("club {club}")).collect(),
        city: format!("city {}", number % 4),
        until: number.is_multiple_of(5).then_some(DateTime::MAX),
    }
}

fn visit() -> Visit {
    Visit { page: "home".into(), id: 1, at: "2026-11-01T10:00:00Z".parse().unwrap() }
}

/// The text of the lock of all three types.
fn lock() -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables.lock");
    let lock = SchemaLock::new(&path).with([runner("Boston", 2)]).with([member(1), member(5)]);
    lock.with([visit()]).update().check().unwrap();
    fs::read_to_string(path).unwrap()
}

fn named(name: &str) -> TableName {
    TableName::new(name).unwrap()
}

/// What a report says of types, without what two runs differ in.
fn shown(mut report: ProfileReport) -> ProfileReport {
    report.seconds = 0.0;
    report
}

#[tokio::test]
async fn rows_are_told_apart_by_a_lock_as_by_the_types() -> table_orm::Result<()> {
    let tables = Tables::in_memory()?;
    for name in ["runners", "cards", "cities"] {
        tables.create(&named(name)).await?;
    }
    let (runners, members) = (tables.repo::<Runner>(), tables.repo::<Member>());
    for number in 1..=12 {
        runners.insert(&runner("Boston", number.into())).await?;
        members.insert(&member(number)).await?;
    }
    let rows = tables.table(named("runners"));
    for row in [
        DynamicEntity::new("Boston", "BIB:00099").with("Moved_To", "[]"),
        DynamicEntity::new("Boston", "BIB:9"),
        DynamicEntity::new("Boston", "MEM:9"),
        DynamicEntity::new("Boston", "LVL:xx04__9").with("Entity_Kind", "member"),
    ] {
        rows.insert(&row).await?;
    }
    let lock = lock();
    for name in ["runners", "cards", "cities"] {
        let profile = || tables.table(named(name)).profile(because());
        let mut by_type = profile().with_type::<Member>();
        if name == "runners" {
            by_type = by_type.with_type::<Runner>();
        }
        let by_type = by_type.await?;
        assert!(by_type.rows_of(RowRole::Other) < by_type.rows / 2, "{by_type}");
        let by_lock = profile().with_lock(&lock).unwrap().await?;
        assert_eq!(shown(by_lock), shown(by_type), "{name}");
    }
    let by_lock = rows.profile(because()).with_lock(&lock).unwrap().await?;
    let twice = rows.profile(because()).with_type::<Member>().with_type::<Runner>();
    let twice = twice.with_lock(&lock).unwrap().with_type_of_lock(&lock, "Runner").unwrap();
    assert_eq!(shown(twice.await?), shown(by_lock.clone()));
    assert_eq!(kinds(&by_lock, RowRole::Eventual), [("by_shirt", 12), ("by_team", 6)]);
    assert_eq!(kinds(&by_lock, RowRole::Entity), [("by_card", 12), ("by_bib", 12)]);
    assert_eq!(kinds(&by_lock, RowRole::Moved), [("moved", 1)]);
    let others = kinds(&by_lock, RowRole::Other);
    assert_eq!(others, [("BIB:", 1), ("LVL:", 1), ("MEM:", 1)]);
    assert!(by_lock.partition_component("Member", "race").is_some());
    Ok(())
}

#[tokio::test]
async fn types_of_a_lock_are_those_of_the_table_or_those_that_are_named() -> table_orm::Result<()> {
    let (tables, lock) = (Tables::in_memory()?, lock());
    let visits = tables.periods::<Visit>();
    visits.insert(&visit()).await?;
    let month = tables.table(named("visits202611"));
    let report = month.profile(because()).with_lock(&lock).unwrap().await?;
    assert_eq!((report.rows, kinds(&report, RowRole::Entity)), (1, vec![("row", 1)]));

    // No month has one digit.
    let plain = named("visits2");
    tables.create(&plain).await?;
    let plain = tables.table(plain).profile(because()).with_lock(&lock).unwrap_err();
    assert!(matches!(plain, LockedTypeError::NoneOfTable { .. }), "{plain:?}");

    let archive = named("archive");
    tables.create(&archive).await?;
    let archive = tables.table(archive);
    let none = archive.profile(because()).with_lock(&lock).unwrap_err();
    let LockedTypeError::NoneOfTable { table, types } = &none else { panic!("{none:?}") };
    assert_eq!((table.as_str(), types.len()), ("archive", 3));
    assert!(none.to_string().contains("Member, Runner, Visit"), "{none}");
    let named = archive.profile(because()).with_type_of_lock(&lock, "Runner").unwrap().await?;
    assert_eq!(kinds(&named, RowRole::Entity), [("by_bib", 0)]);
    let absent = archive.profile(because()).with_type_of_lock(&lock, "Walker").unwrap_err();
    assert!(matches!(absent, LockedTypeError::Absent { .. }), "{absent:?}");
    Ok(())
}

#[tokio::test]
async fn a_lock_that_is_not_as_it_was_written_is_refused() -> table_orm::Result<()> {
    let (tables, lock) = (Tables::in_memory()?, lock());
    let profile = || tables.table(named("runners")).profile(because());
    let broken = |text: &str| profile().with_lock(text).unwrap_err();
    assert_eq!(broken(""), LockedTypeError::NoTypes);
    assert!(broken("").to_string().contains("no entity type"), "{}", broken(""));
    let line = broken("entity Runner\n    template: x\n");
    assert_eq!(line, LockedTypeError::Malformed(2));
    for (whole, part) in [
        ("    template: BIB:{bib:05}\n", ""),
        ("template: BIB:{bib:05}", "template: BIB:{bib"),
        ("    place: canonical\n", "    place: nowhere\n"),
        ("    table: runners\n", ""),
        (
            "  keys of the partition\n    table: runners\n    template: {race}\n",
            "  keys of the partition\n",
        ),
    ] {
        assert!(lock.contains(whole), "{whole}");
        let fault = broken(&lock.replacen(whole, part, 1));
        assert!(matches!(fault, LockedTypeError::Keys { .. }), "{whole}: {fault:?}");
    }
    Ok(())
}

#[test]
fn the_locks_of_the_examples_are_read() {
    let locks = [
        include_str!("../../../examples/apps/footrace/tables.lock"),
        include_str!("../../../examples/apps/shop/tables.lock"),
    ];
    let tables = Tables::in_memory().unwrap();
    for lock in locks {
        let declared: Vec<_> =
            lock.lines().filter_map(|line| line.strip_prefix("    table: ")).collect();
        assert!(!declared.is_empty());
        for table in declared {
            let profile = tables.table(named(table)).profile(because());
            assert!(profile.with_lock(lock).unwrap().plan().is_ok(), "{table}");
        }
    }
}
