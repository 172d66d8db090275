//! Rows whose properties make another key.

use super::{Order, order, orders};
use table_orm::entity::KeyMismatch;
use table_orm::repo::Table;
use table_orm::{DynamicEntity, Error, Repo, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "runners", partition = "{race}", unique(chip))]
#[row(by_bib, key = "BIB|{bib:05}")]
#[row(by_age, key = "AGE|{age:03}|{bib:05}")]
#[row(by_club, key = "CLUB|{club}|{bib:05}")]
struct Runner {
    race: String,
    bib: u32,
    age: u8,
    chip: u32,
    club: Option<String>,
    name: String,
}

fn runner(bib: u32) -> Runner {
    let name = format!("Runner {bib}");
    Runner { race: "R".into(), bib, age: 30, chip: bib, club: Some("Harriers".into()), name }
}

async fn runners() -> (Repo<Runner>, Table) {
    let tables = Tables::in_memory().unwrap();
    let runners = tables.repo::<Runner>();
    runners.create_table().await.unwrap();
    let rows = tables.table(runners.table().clone());
    for bib in 1..=3 {
        runners.insert(&runner(bib)).await.unwrap();
    }
    (runners, rows)
}

async fn keys(rows: &Table, partition: &str) -> Vec<String> {
    let rows = rows.list(partition, ..).collect().await.unwrap();
    rows.into_iter().map(|row| row.row_key).collect()
}

async fn set(rows: &Table, row_key: &str, property: &str, value: i32) {
    rows.merge(&DynamicEntity::new("R", row_key).with(property, value)).await.unwrap();
}

#[track_caller]
fn key_mismatch<T: std::fmt::Debug>(result: Result<T, Error>) -> KeyMismatch {
    match result {
        Err(Error::KeyMismatch(mismatch)) => *mismatch,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_row_whose_properties_make_another_key_is_read_as_they_say_and_not_loaded() {
    let (orders, rows) = orders().await;
    rows.insert(&order("ORD|0000000002", 3)).await.unwrap();
    let shop = Order::partition("A");
    let key = shop.row().n(2);
    assert_eq!(orders.get(&key).await.unwrap().unwrap().n, 3);
    assert_eq!(orders.list(&shop).one().await.unwrap().n, 3);
    for rejected in [orders.load(&key).await, orders.load(&shop).await] {
        let text = rejected.as_ref().unwrap_err().to_string();
        let mismatch = key_mismatch(rejected);
        assert_eq!((mismatch.entity, mismatch.index_row), ("Order", None));
        assert_eq!((&*mismatch.partition_key, &*mismatch.row_key), ("A", "ORD|0000000002"));
        assert_eq!(mismatch.made_partition_key, "A");
        assert_eq!(mismatch.made_row_key.as_deref(), Some("ORD|0000000003"));
        assert_eq!(
            text,
            "row \"A\" / \"ORD|0000000002\" of `Order` has properties that make the key \"A\" / \
             \"ORD|0000000003\", so a write would go to another row; nothing was written: correct its \
             properties, or insert it under the other key and delete this row, with the untyped calls \
             of `Tables::table`; `key_only` fields are read from the key"
        );
    }
    rows.merge(&DynamicEntity::new("A", "ORD|0000000002").with("N", 2_i64)).await.unwrap();
    let mut mended = orders.load(&key).await.unwrap().one().unwrap();
    mended.text = "new".into();
    orders.save(&mut mended).await.unwrap();
}

#[tokio::test]
async fn a_number_that_was_not_padded_is_no_row_of_the_type() {
    let (orders, rows) = orders().await;
    rows.insert(&order("ORD|3", 3)).await.unwrap();
    assert_eq!(orders.load(Order::partition("A")).await.unwrap().len(), 0);
    assert!(!orders.list(Order::partition("A")).exists().await.unwrap());
}

#[tokio::test]
async fn a_row_whose_properties_make_no_key_is_named_by_its_own() {
    let (orders, rows) = orders().await;
    rows.insert(&order("ORD|0000000001", 12_345_678_901)).await.unwrap();
    let rejected = orders.load(Order::partition("A")).await;
    let Err(Error::Property(error)) = rejected else { panic!("{rejected:?}") };
    assert_eq!((error.property.as_str(), error.row_key.as_str()), ("n", "ORD|0000000001"));
    assert!(error.to_string().contains("needs more than the 10 digits"), "{error}");
}

#[tokio::test]
async fn a_row_of_another_partition_than_its_properties_make_is_not_loaded() {
    let (runners, rows) = runners().await;
    let mut copy = rows.get("R", "BIB|00002").await.unwrap().unwrap();
    copy.partition_key = "S".into();
    rows.insert(&copy).await.unwrap();
    let rejected = key_mismatch(runners.load(Runner::partition("S").by_bib().bib(2)).await);
    assert_eq!((&*rejected.partition_key, &*rejected.made_partition_key), ("S", "R"));
}

#[tokio::test]
async fn what_reads_before_it_writes_refuses_such_a_row_and_writes_nothing() {
    const { assert!(!Runner::KEYS_FOLLOW_CANONICAL && !Runner::PATCHES_ONE_ROW) };
    let (runners, rows) = runners().await;
    set(&rows, "BIB|00002", "Bib", 3).await;
    let before = rows.list("R", ..).collect().await.unwrap();
    let race = Runner::partition("R");
    let key = race.by_bib().bib(2);
    let mut calls = 0;
    let patch = || RunnerPatch::default().name("x");
    let etag = rows.get("R", "BIB|00002").await.unwrap().unwrap().etag.unwrap();
    let rejected = [
        runners.update(&key, |_| calls += 1).await.map(drop),
        runners.try_update(&key, |_| Ok::<_, Error>(())).await.map(drop),
        runners.merge(&key, patch()).await.map(drop),
        runners.upsert(&runner(2)).await.map(drop),
        runners.insert_or_merge(&runner(2)).await.map(drop),
        runners.replace(&runner(2), &etag).await.map(drop),
        runners.force_replace(&runner(2)).await.map(drop),
        runners.force_delete(&runner(2)).await.map(drop),
        runners.upsert_many([runner(2)]).await.all().map(drop),
    ];
    for rejected in rejected {
        let rejected = key_mismatch(rejected);
        assert_eq!(rejected.row_key, "BIB|00002");
        assert_eq!(rejected.made_row_key.as_deref(), Some("BIB|00003"));
    }
    assert_eq!(calls, 0);
    assert_eq!(rows.list("R", ..).collect().await.unwrap(), before);
}

#[tokio::test]
async fn a_load_through_an_index_row_checks_the_canonical_row() {
    let (runners, rows) = runners().await;
    set(&rows, "BIB|00002", "Bib", 3).await;
    let race = Runner::partition("R");
    let rejected = key_mismatch(runners.load(race.by_age().age(30).bib(2)).await);
    assert_eq!((rejected.index_row, &*rejected.row_key), (None, "BIB|00002"));
    // A load of the rows around it fails too.
    key_mismatch(runners.load(race.by_age()).await);
}

#[tokio::test]
async fn a_load_through_an_index_row_of_another_key_is_refused_and_repair_mends_it() {
    let (runners, rows) = runners().await;
    set(&rows, "AGE|030|00002", "Bib", 3).await;
    let race = Runner::partition("R");
    let key = race.by_age().age(30).bib(2);
    let rejected = key_mismatch(runners.load(&key).await);
    assert_eq!((rejected.index_row, &*rejected.row_key), (Some("by_age"), "AGE|030|00002"));
    assert_eq!(rejected.made_row_key.as_deref(), Some("AGE|030|00003"));
    assert!(rejected.to_string().ends_with("run `verify`, then `repair` what it finds"));
    // A copy whose properties make no such row.
    let mut copy = rows.get("R", "CLUB|Harriers|00002").await.unwrap().unwrap();
    copy.properties.remove("Club");
    rows.replace(&copy).await.unwrap();
    let rejected = key_mismatch(runners.load(race.by_club().club("Harriers").bib(2)).await);
    assert_eq!(rejected.made_row_key, None);
    assert!(rejected.to_string().contains("make no such row"), "{rejected}");

    let findings = runners.verify(&race).await.unwrap().findings;
    assert_eq!(runners.repair(findings).await.repaired.len(), 2);
    assert_eq!(*runners.load(&key).await.unwrap().one().unwrap(), runner(2));
}

#[tokio::test]
async fn a_load_through_a_copy_that_is_stale_elsewhere_returns_what_the_canonical_row_says() {
    let (runners, rows) = runners().await;
    let stale = DynamicEntity::new("R", "AGE|030|00002").with("Name", "stale");
    rows.merge(&stale).await.unwrap();
    let loaded = runners.load(Runner::partition("R").by_age().age(30).bib(2)).await.unwrap();
    assert_eq!(*loaded.one().unwrap(), runner(2));
}

#[tokio::test]
async fn a_partition_with_rows_under_other_keys_is_deleted() {
    let (orders, rows) = orders().await;
    for (row_key, n) in [
        ("ORD|0000000002", 3),
        ("ORD|0000000003", 3),
        ("ORD|0000000004", 12_345_678_901),
        // Keys of another form are no orders.
        ("ORD|3", 3),
        ("ORD|12345678901", 12_345_678_901),
    ] {
        rows.insert(&order(row_key, n)).await.unwrap();
    }
    // A row of another type.
    rows.insert(&DynamicEntity::new("A", "NOTE|1")).await.unwrap();
    let deleted = orders.delete_partition(Order::partition("A")).await.unwrap();
    assert_eq!((deleted.entities, deleted.rows), (3, 3));
    assert_eq!(keys(&rows, "A").await, ["NOTE|1", "ORD|12345678901", "ORD|3"]);
}

#[tokio::test]
async fn a_deleted_partition_leaves_only_rows_that_no_property_refers_to() {
    let (runners, rows) = runners().await;
    // Beside entity 3: its properties make the index rows of that entity, and its own are orphans.
    set(&rows, "BIB|00002", "Bib", 3).await;
    // Its properties make the key of another partition, so it has no index rows here.
    let foreign = DynamicEntity::new("R", "BIB|00001").with("Race", "elsewhere");
    rows.merge(&foreign).await.unwrap();
    let race = Runner::partition("R");
    assert_eq!(runners.delete_partition(&race).await.unwrap().entities, 3);
    let orphans = ["AGE|030|00001", "AGE|030|00002", "CLUB|Harriers|00001", "CLUB|Harriers|00002"];
    assert_eq!(keys(&rows, "R").await, [&orphans[..], &["UNQ:chip:0000000001"]].concat());
    let findings = runners.verify(&race).await.unwrap().findings;
    assert_eq!(runners.repair(findings).await.repaired.len(), 5);
    assert!(keys(&rows, "R").await.is_empty());
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_not_deleted_with_its_partition() {
    let (orders, rows) = orders().await;
    rows.insert(&DynamicEntity::new("A", "ORD|0000000001")).await.unwrap();
    let rejected = orders.delete_partition(Order::partition("A")).await;
    assert!(matches!(&rejected, Err(Error::Property(error)) if error.row_key == "ORD|0000000001"));
    assert_eq!(keys(&rows, "A").await, ["ORD|0000000001"]);
}
