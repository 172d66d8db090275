//! Kinds of rows: those of each type by its templates, helper rows, and rows of no known type.

use super::*;
use table_orm::profile::AdviceKind;
use table_orm::{DynamicEntity, TableName, Tables};

/// A team of the same table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}", row = "TEAM:{name}", kind = "team")]
struct Team {
    race: String,
    name: String,
}

/// A trainer, whose row in another partition is in another table.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "trainers", partition = "{race}", row = "TRN:{name}")]
#[row(by_city, table = "runners", partition = "CITY:{city}", key = "TRN:{name}__{race}", eventual)]
struct Trainer {
    race: String,
    name: String,
    city: String,
}

#[tokio::test]
async fn every_row_of_a_type_is_of_the_template_that_wrote_it() {
    let tables = Tables::in_memory().unwrap();
    let runners = tables.repo::<Runner>();
    runners.create_table().await.unwrap();
    for race in ["Boston", "Chicago"] {
        for bib in 1..=6 {
            runners.insert(&runner(race, bib)).await.unwrap();
        }
    }
    let report = runners.profile(because()).await.unwrap();
    assert_eq!(kinds(&report, RowRole::Entity), [("by_bib", 12)]);
    assert_eq!(kinds(&report, RowRole::Copy), [("by_age", 12)]);
    assert_eq!(kinds(&report, RowRole::Guard), [("chip", 12), ("email", 12)]);
    assert_eq!(kinds(&report, RowRole::Eventual), [("by_team", 6)]);
    assert_eq!(kinds(&report, RowRole::Total), [("SUM:", 2)]);
    // Twelve events, and in each partition the row with the number of the next one.
    assert_eq!(kinds(&report, RowRole::Event), [("OUT:", 12)]);
    assert_eq!(kinds(&report, RowRole::OutboxState), [("OUT:-", 2)]);
    for role in [RowRole::Intent, RowRole::Ticket, RowRole::Moved, RowRole::Other] {
        assert_eq!(kinds(&report, role), [], "{role}");
    }
    assert_eq!(report.kinds.iter().map(|kind| kind.rows).sum::<u64>(), report.rows);
    let sizes = report.sizes.as_ref().unwrap();
    assert_eq!(report.kinds.iter().map(|kind| kind.bytes).sum::<u64>(), sizes.bytes);
    // Two races, a team, and a partition for the guard of each email.
    let partitions = &report.partitions;
    assert_eq!((partitions.count, partitions.only_helpers, partitions.single_row), (15, 12, 0));
    // The properties of a partial copy count where the copy stores them.
    let (name, team) = (report.property("Name").unwrap(), report.property("Team").unwrap());
    assert_eq!((name.rows, name.of_rows), (12 + 12 + 6, 12 + 12 + 6));
    assert_eq!((team.rows, team.of_rows), (6 + 6, 12 + 6));
    assert_eq!(report.advice, []);
}

#[tokio::test]
async fn rows_of_no_known_type_are_told_apart_and_named() {
    let tables = Tables::in_memory().unwrap();
    let runners = tables.repo::<Runner>();
    runners.create_table().await.unwrap();
    runners.insert(&runner("Boston", 1)).await.unwrap();
    let teams = tables.repo::<Team>();
    teams.insert(&Team { race: "Boston".into(), name: "red".into() }).await.unwrap();
    let rows = tables.table(runners.table().clone());
    let left = [
        // An index row without an entity is one of its type; a key of an older version is not.
        DynamicEntity::new("Boston", "AGE:099__00077").with("Name", "Orphan"),
        DynamicEntity::new("Boston", "AGE:99").with("Name", "Old"),
        DynamicEntity::new("Boston", "CLB:1"),
        DynamicEntity::new("Boston", "TEAM:blue"),
        DynamicEntity::new("Boston", "DUE:x"),
        DynamicEntity::new("Boston", "TKT:x"),
        DynamicEntity::new("Boston", "SEQ:bibs"),
        DynamicEntity::new("Boston", "UNQ:nick:Bob"),
        DynamicEntity::new("Boston", "BIB:00009").with("Moved_To", "[]"),
    ];
    for row in left {
        rows.insert(&row).await.unwrap();
    }
    let report = runners.profile(because()).with_type::<Team>().await.unwrap();
    assert_eq!(kinds(&report, RowRole::Entity), [("by_bib", 1), ("row", 1)]);
    assert_eq!(kinds(&report, RowRole::Copy), [("by_age", 2)]);
    // A row without the mark of its kind is not of the type.
    assert_eq!(kinds(&report, RowRole::Other), [("AGE:", 1), ("CLB:", 1), ("TEAM:", 1)]);
    assert_eq!(kinds(&report, RowRole::Intent), [("DUE:", 1)]);
    assert_eq!(kinds(&report, RowRole::Ticket), [("TKT:", 1)]);
    assert_eq!(kinds(&report, RowRole::Sequence), [("SEQ:", 1)]);
    assert_eq!(kinds(&report, RowRole::Moved), [("moved", 1)]);
    assert_eq!(kinds(&report, RowRole::Guard), [("chip", 1), ("email", 1), ("UNQ:", 1)]);
    let unknown = report.advice.iter().find(|advice| advice.kind == AdviceKind::UnknownRows);
    let finding = &unknown.unwrap().finding;
    assert!(finding.starts_with("3 rows") && finding.contains("1 AGE:, 1 CLB:"), "{finding}");

    let alone = runners.profile(because()).await.unwrap();
    assert_eq!(alone.rows_of(RowRole::Other), 4);
    let untyped = rows.profile(because()).await.unwrap();
    assert!(untyped.kinds.iter().all(|kind| kind.entity.is_none()));
    let age = untyped.kinds.iter().find(|kind| kind.name == "AGE:").unwrap();
    assert_eq!((age.rows, age.role), (3, RowRole::Other));
    assert!(untyped.advice.iter().all(|advice| advice.kind != AdviceKind::UnknownRows));

    // Keys and marks are all that it takes.
    let by_keys = runners.profile(because()).with_type::<Team>().keys_only().await.unwrap();
    let counts = |report: &ProfileReport| -> Vec<_> {
        report.kinds.iter().map(|kind| (kind.name.clone(), kind.role, kind.rows)).collect()
    };
    assert_eq!(counts(&by_keys), counts(&report));
}

#[tokio::test]
async fn rows_of_a_type_of_another_table_are_known_where_they_are() {
    let tables = Tables::in_memory().unwrap();
    let (runners, trainers) = (tables.repo::<Runner>(), tables.repo::<Trainer>());
    runners.create_table().await.unwrap();
    trainers.create_table().await.unwrap();
    let ann = Trainer { race: "Boston".into(), name: "Ann".into(), city: "Rome".into() };
    trainers.insert(&ann).await.unwrap();
    let report = runners.profile(because()).with_type::<Trainer>().await.unwrap();
    assert_eq!(kinds(&report, RowRole::Eventual), [("by_team", 0), ("by_city", 1)]);
    assert_eq!(report.rows, 1);
    let home = trainers.profile(because()).await.unwrap();
    assert_eq!((home.rows, kinds(&home, RowRole::Entity)), (1, vec![("row", 1)]));
    assert_eq!(kinds(&home, RowRole::Eventual), []);
}

#[tokio::test]
async fn an_index_row_that_no_entity_has_is_shown_with_its_zero() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "runners", partition = "{race}", row = "BIB:{bib:05}")]
    struct Before {
        race: String,
        bib: u32,
    }
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "runners", partition = "{race}")]
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(newest, key = "NEW:{last}")]
    #[component(last = desc(bib))]
    struct After {
        race: String,
        bib: u32,
    }
    let tables = Tables::in_memory().unwrap();
    let before = tables.repo::<Before>();
    before.create_table().await.unwrap();
    before.insert(&Before { race: "Boston".into(), bib: 1 }).await.unwrap();
    let report = tables.repo::<After>().profile(because()).await.unwrap();
    assert_eq!(kinds(&report, RowRole::Copy), [("newest", 0)]);
    assert!(report.to_string().contains("After.newest"), "{report}");
}

#[tokio::test]
async fn full_copies_of_large_entities_are_named_and_partial_ones_are_not() {
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "runners", partition = "{race}")]
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    struct Full {
        race: String,
        bib: u32,
        age: u8,
        story: String,
    }
    #[derive(Debug, Clone, PartialEq, TableEntity)]
    #[table(name = "runners", partition = "{race}")]
    #[row(by_bib, key = "BIB:{bib:05}")]
    #[row(by_age, key = "AGE:{age:03}__{bib:05}", include(bib))]
    struct Partial {
        race: String,
        bib: u32,
        age: u8,
        story: String,
    }
    let race = |bib: u32| format!("race {}", bib / 50);
    let story = |bib| format!("{bib} a story that only the page of the runner shows");
    let full = Tables::in_memory().unwrap().repo::<Full>();
    full.create_table().await.unwrap();
    let rows = (0..600).map(|bib| Full { race: race(bib), bib, age: 50, story: story(bib) });
    full.insert_many(rows).await.all().unwrap();
    let partial = Tables::in_memory().unwrap().repo::<Partial>();
    partial.create_table().await.unwrap();
    let rows = (0..600).map(|bib| Partial { race: race(bib), bib, age: 50, story: story(bib) });
    partial.insert_many(rows).await.all().unwrap();

    let has = |report: &ProfileReport| {
        report.advice.iter().any(|advice| advice.kind == AdviceKind::FullCopies)
    };
    assert!(has(&full.profile(because()).await.unwrap()));
    // The kinds of rows in a part of a table may be others than in the whole.
    let part = full.profile(because()).scan(|scan| scan.prefix("race"));
    assert!(!has(&part.await.unwrap()));
    assert!(!has(&partial.profile(because()).await.unwrap()));
}

/// A type with a property that few entities have.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "parcels", partition = "{depot}", row = "{number:08}")]
struct Parcel {
    depot: String,
    number: u32,
    damage: Option<String>,
    #[table(series)]
    stops: Vec<u16>,
    #[table(alias = "Driver")]
    courier: Option<String>,
}

#[tokio::test]
async fn a_rare_property_that_a_type_declares_is_not_called_misspelled() {
    let tables = Tables::in_memory().unwrap();
    let parcels = tables.repo::<Parcel>();
    parcels.create_table().await.unwrap();
    let parcel = |number| Parcel {
        depot: "Leith".into(),
        number,
        damage: (number == 7).then(|| "torn".into()),
        stops: if number == 8 { vec![1] } else { Vec::new() },
        courier: None,
    };
    parcels.insert_many((0..1200).map(parcel)).await.all().unwrap();
    // One that an earlier version of the app wrote.
    let former = DynamicEntity::new("Leith", "00001200").with("Driver", "ann");
    tables.table(TableName::new("parcels").unwrap()).insert(&former).await.unwrap();
    let rare = |report: &ProfileReport| {
        let rare = report.advice.iter().filter(|one| one.kind == AdviceKind::RareProperties);
        Vec::from_iter(rare.map(ToString::to_string))
    };
    let known = rare(&parcels.profile(because()).await.unwrap());
    let [known] = &known[..] else { panic!("{known:?}") };
    assert!(known.contains("`Damage` in 1 of 1,201"), "{known}");
    assert!(known.contains("`Stops") && !known.contains("misspelled"), "{known}");
    let table = tables.table(TableName::new("parcels").unwrap());
    let unknown = rare(&table.profile(because()).await.unwrap());
    assert!(unknown.len() == 1 && unknown[0].contains("misspelled"), "{unknown:?}");
}
