//! The untyped calls: rows of any shape, types exact, pages whole.

use std::sync::Arc;
use std::time::Duration;
use table_orm::embedded::EmbeddedStore;
use table_orm::layer::{Fault, Faults, Retry, RetryStrategy};
use table_orm::model::{DateTime, Edm};
use table_orm::query::{Comparison, Filter};
use table_orm::repo::Table;
use table_orm::{DynamicEntity, Error, ScanPermit, TableName, Tables};

async fn table() -> (Tables, Table) {
    let tables = Tables::in_memory().unwrap();
    let name = TableName::new("things").unwrap();
    tables.create(&name).await.unwrap();
    let table = tables.table(name);
    (tables, table)
}

#[tokio::test]
async fn every_type_comes_back_exactly() {
    let (_tables, table) = table().await;
    let thing = DynamicEntity::new("p", "it's 100% + & = , (r)")
        .with("Text", "O'Brien \"\\\u{1F3C3}")
        .with("Int32", i32::MIN)
        .with("Int64", 9_007_199_254_740_993_i64)
        .with("Whole", 3.0)
        .with("Infinite", f64::NEG_INFINITY)
        .with("Flag", false)
        .with("At", DateTime::MAX)
        .with("Guid", uuid::Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8))
        .with("Bytes", vec![0_u8, 255]);
    table.insert(&thing).await.unwrap();
    let read = table.get("p", &thing.row_key).await.unwrap().unwrap();
    assert_eq!(read.properties, thing.properties);
    assert!(read.timestamp.is_some() && read.etag.is_some());
}

#[tokio::test]
async fn rows_that_have_changed_are_left_by_a_delete_of_many() {
    let (_tables, table) = table().await;
    let rows = (0..150).map(|at| DynamicEntity::new("p", format!("{at:03}")).with("A", 1));
    table.insert_many(rows).await.all().unwrap();
    let scan = table.scan(ScanPermit::because("test")).select::<&'static str>([]);
    let found = scan.collect().await.unwrap();
    table.merge(&DynamicEntity::new("p", "007").with("A", 2)).await.unwrap();
    let report = table.delete_many(found).continue_on_failure().await;
    assert_eq!((report.written.rows, report.failures.len()), (149, 1));
    assert!(matches!(report.failures[0].error, Error::Conflict(_)));
    let left = table.list("p", ..).collect().await.unwrap();
    assert_eq!(left.iter().map(|row| &*row.row_key).collect::<Vec<_>>(), ["007"]);
}

#[tokio::test]
async fn an_etag_guards_replace_merge_and_delete() {
    let (_tables, table) = table().await;
    table.insert(&DynamicEntity::new("p", "r").with("A", 1).with("B", 1)).await.unwrap();
    let old = table.get("p", "r").await.unwrap().unwrap();
    table.merge(&DynamicEntity::new("p", "r").with("A", 2)).await.unwrap();
    for rejected in [
        table.replace(&old).await.map(drop),
        table.merge(&old).await.map(drop),
        table.delete(&old).await,
    ] {
        assert!(matches!(rejected, Err(Error::Conflict(_))), "{rejected:?}");
    }
    let new = table.get("p", "r").await.unwrap().unwrap();
    assert_eq!(new.properties["A"], Edm::Int32(2));
    assert_eq!(new.properties["B"], Edm::Int32(1));
    table.delete(&new).await.unwrap();
    assert!(matches!(table.delete(&new).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn a_stream_goes_on_over_all_pages() {
    let (_tables, table) = table().await;
    for index in 0..2500 {
        table
            .insert(&DynamicEntity::new("p", format!("{index:05}")).with("I", index))
            .await
            .unwrap();
    }
    let mut rows = table.scan(ScanPermit::because("test")).stream();
    let mut seen = 0;
    while let Some(row) = rows.next().await.unwrap() {
        assert_eq!(row.row_key, format!("{seen:05}"));
        seen += 1;
    }
    assert_eq!(seen, 2500);
    let even = Filter::compare("I", Comparison::Less, 10);
    let few = table.list("p", "00003".to_owned()..).filter(even).select(["I"]).collect().await;
    assert_eq!(few.unwrap().len(), 7);
    let taken = table.list("p", ..).take(1700).collect().await.unwrap();
    assert_eq!(taken.len(), 1700);
}

#[tokio::test]
async fn tables_are_listed_and_missing_ones_are_named() {
    let (tables, table) = table().await;
    assert_eq!(tables.list().await.unwrap(), [TableName::new("things").unwrap()]);
    tables.delete(&TableName::new("Things").unwrap()).await.unwrap();
    let rejected = table.get("p", "r").await.unwrap_err();
    assert!(rejected.to_string().contains("things"), "{rejected}");
}

#[tokio::test]
async fn a_scan_from_a_complete_checkpoint_says_that_nothing_was_left() {
    let tables = Tables::in_memory().unwrap();
    let name = TableName::new("nightly").unwrap();
    tables.create(&name).await.unwrap();
    let rows = (0..2_500).map(|row| DynamicEntity::new("p", format!("{row:05}")));
    tables.table(name.clone()).insert_or_replace_many(rows).await.all().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let scan = || {
        let permit = ScanPermit::because("nightly export");
        tables.scan(name.clone(), permit).checkpoint(directory.path().join("export.json"))
    };
    let first = scan().count().await.unwrap();
    assert_eq!((first.rows, first.already_complete), (2_500, false));
    let second = scan().count().await.unwrap();
    assert_eq!((second.rows, second.already_complete), (0, true));
}

#[tokio::test]
async fn an_entity_is_measured_in_utf_16_units() {
    let (tables, name) = (Tables::in_memory().unwrap(), TableName::new("sizes").unwrap());
    tables.create(&name).await.unwrap();
    let rows = tables.table(name);
    // 408 bytes for each name and its property, 4 and twice as many as units for each value.
    let row = |units: usize| {
        let names = (0..250).map(|n| format!("{}{n:03}", "名".repeat(197)));
        names.fold(DynamicEntity::new("p", "r"), |row, name| row.with(name, "x".repeat(units)))
    };
    let units = (1024 * 1024 - 8) / 250 / 2 - 206;
    rows.insert(&row(units)).await.unwrap();
    let rejected = rows.insert_or_replace(&row(units + 1)).await;
    assert!(matches!(rejected, Err(Error::Property(_))), "{rejected:?}");
}

/// What callers and stored rows put into a message changes neither its lines nor the terminal.
#[tokio::test]
async fn messages_show_control_characters_escaped() {
    use std::collections::BTreeMap;
    use table_orm::model::Edm;
    use table_orm::query::{Comparison, Filter};
    use table_orm::repo::Problem;
    use table_orm::{TableEntity, TableName, Tables};

    #[derive(Debug, TableEntity)]
    #[table(name = "notes", partition = "{owner}", row = "{id:02}")]
    struct Note {
        owner: String,
        id: u8,
        #[table(flatten)]
        rest: BTreeMap<String, Edm>,
    }

    let hostile = "x\u{1b}[31m\nfake: line\u{202e}";
    let tables = Tables::in_memory().unwrap();
    let notes = tables.repo::<Note>();
    notes.create_table().await.unwrap();
    let rest = BTreeMap::from([(hostile.to_owned(), Edm::from(1))]);
    let note = Note { owner: "ann".into(), id: 1, rest };
    let rows = tables.table(notes.table().clone());
    let filter = Filter::compare("A", Comparison::Equal, hostile);
    let absent = TableName::new("absent").unwrap();
    let messages = [
        notes.insert(&note).await.unwrap_err().to_string(),
        TableName::new(hostile).unwrap_err().to_string(),
        hostile.parse::<DateTime>().unwrap_err().to_string(),
        rows.list(hostile, ..).collect().await.map_or_else(|e| e.to_string(), |_| String::new()),
        tables.table(absent).get(hostile, hostile).await.unwrap_err().to_string(),
        Problem::Stale { properties: vec![hostile.into()] }.to_string(),
        Problem::Unreadable { reason: hostile.into() }.to_string(),
    ];
    for message in messages {
        assert!(!message.contains(['\u{1b}', '\n', '\u{202e}']), "{message:?}");
    }
    let plan = rows.list("p", ..).filter(filter).plan().unwrap().to_string();
    assert!(plan.contains("A eq 'x\\u{1b}[31m\\nfake: line\\u{202e}'"), "{plan:?}");
}

#[tokio::test]
async fn a_table_whose_creation_was_not_answered_exists_afterwards() {
    let faults = Faults::seeded(1).on("create_table", 1, Fault::ErrorAfter);
    let network = faults.store(Arc::new(EmbeddedStore::in_memory().unwrap())).unwrap();
    let retry = Retry::new(RetryStrategy::Fixed { retries: 2, wait: Duration::from_millis(1) });
    let tables = Tables::builder(network).bare().build().unwrap().layer(retry).unwrap();
    let name = TableName::new("things").unwrap();
    assert!(!tables.create_if_not_exists(&name).await.unwrap());
    tables.table(name).insert(&DynamicEntity::new("p", "r")).await.unwrap();
}
