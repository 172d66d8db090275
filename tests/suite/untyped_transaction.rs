//! Transactions of untyped rows: all or nothing, with the plan, errors and limits of the typed ones.

use table_orm::repo::{Table, TransactionError};
use table_orm::{DynamicEntity, ETag, Error, TableName, Tables};

async fn table() -> Table {
    let tables = Tables::in_memory().unwrap();
    let name = TableName::new("things").unwrap();
    tables.create(&name).await.unwrap();
    tables.table(name)
}

fn row(key: &str) -> DynamicEntity {
    DynamicEntity::new("p", key).with("A", 1)
}

#[tokio::test]
async fn each_call_is_one_operation_and_returns_the_version_of_its_row() {
    let table = table().await;
    for key in ["replaced", "merged", "deleted", "over", "into"] {
        table.insert(&row(key).with("Old", true)).await.unwrap();
    }
    let replaced = table.get("p", "replaced").await.unwrap().unwrap();
    let other = DynamicEntity::new("p", "replaced").with("B", 2);
    let transaction = table
        .transaction("p")
        .insert(&row("inserted"))
        .replace(&DynamicEntity { etag: replaced.etag, ..other })
        .merge(&DynamicEntity::new("p", "merged").with("B", 2))
        .delete(&row("deleted"))
        .insert_or_replace(&row("over"))
        .insert_or_merge(&row("into"));
    assert_eq!((transaction.len(), transaction.room().operations), (6, 94));
    assert_eq!(transaction.plan().unwrap().operations().count(), 6);
    let etags = transaction.commit().await.unwrap();
    let stored = table.list("p", ..).collect().await.unwrap();
    let names = |row: &DynamicEntity| row.properties.keys().cloned().collect::<Vec<_>>().join(" ");
    let found: Vec<_> = stored.iter().map(|row| (row.row_key.clone(), names(row))).collect();
    let expected = [
        ("inserted", "A"),
        ("into", "A Old"),
        ("merged", "A B Old"),
        ("over", "A"),
        ("replaced", "B"),
    ];
    assert_eq!(found, expected.map(|(key, names)| (key.to_owned(), names.to_owned())));
    let version = |key: &str| stored.iter().find(|row| row.row_key == key)?.etag.clone();
    let keys = ["inserted", "replaced", "merged", "deleted", "over", "into"];
    assert_eq!(etags, keys.map(version));
}

#[tokio::test]
async fn a_failure_names_the_row_and_the_operation_and_nothing_is_written() {
    let table = table().await;
    table.insert(&row("there")).await.unwrap();
    let old = table.get("p", "there").await.unwrap().unwrap();
    table.merge(&row("there")).await.unwrap();
    let start = || table.transaction("p").insert(&row("new"));
    let name = |error: Error| {
        let kind = error.kind();
        let rejection = error.rejection().unwrap();
        (kind, rejection.row_key.clone(), rejection.operation.map(|(index, _)| index))
    };
    for rejected in [start().replace(&old), start().merge(&old), start().delete(&old)] {
        let error = rejected.commit().await.unwrap_err();
        assert!(matches!(error, Error::Conflict(_)), "{error}");
        let (_, row_key, index) = name(error);
        assert_eq!((row_key.as_str(), index), ("there", Some(1)));
    }
    let error = start().insert(&row("there")).commit().await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists(_)), "{error}");
    let error = start().delete(&row("absent")).commit().await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    assert!(table.get("p", "new").await.unwrap().is_none());
}

#[tokio::test]
async fn a_broken_rule_is_an_error_of_plan_and_commit_and_nothing_is_sent() {
    let table = table().await;
    let first = || table.transaction("p").insert(&row("r"));
    let other = first().insert(&DynamicEntity::new("q", "s"));
    let same = first().delete(&row("r"));
    let too_many = (0..101).fold(table.transaction("p"), |transaction, at| {
        transaction.insert(&row(&format!("{at:03}")))
    });
    let rule = |error| match error {
        Error::Transaction(error) => error,
        error => panic!("{error}"),
    };
    for transaction in [other, same, too_many] {
        let planned = rule(transaction.plan().unwrap_err());
        assert_eq!(planned, rule(transaction.commit().await.unwrap_err()));
        match planned {
            TransactionError::OtherPartition { expected, found, .. } => {
                assert_eq!((&*expected, &*found), ("p", "q"));
            }
            TransactionError::SameRow { row_key, .. } => assert_eq!(row_key, "r"),
            TransactionError::TooManyOperations { found, most } => {
                assert_eq!((found, most), (101, 100));
            }
            rule => panic!("{rule}"),
        }
    }
    let refused = first().insert(&row("s").with("no name", 1));
    assert!(matches!(refused.commit().await, Err(Error::Property(_))));
    let large = (0..80).fold(table.transaction("p"), |transaction, at| {
        transaction.insert(&row(&format!("{at:03}")).with("Bytes", vec![0_u8; 60_000]))
    });
    assert!(matches!(large.commit().await, Err(Error::TooLarge(_))));
    assert_eq!(table.list("p", ..).count().await.unwrap(), 0);
}

#[tokio::test]
async fn a_row_may_be_required_without_a_change_of_its_properties() {
    let table = table().await;
    table.insert(&row("a")).await.unwrap();
    let read = table.get("p", "a").await.unwrap().unwrap();
    let required = |etag: Option<ETag>| DynamicEntity { etag, ..DynamicEntity::new("p", "a") };
    let write = table.transaction("p").merge(&required(read.etag.clone())).insert(&row("b"));
    let etags = write.commit().await.unwrap();
    let now = table.get("p", "a").await.unwrap().unwrap();
    assert_eq!((now.etag.as_ref(), &now.properties), (etags[0].as_ref(), &read.properties));
    let late = table.transaction("p").merge(&required(read.etag)).insert(&row("c"));
    assert!(matches!(late.commit().await, Err(Error::Conflict(_))));
    assert!(table.get("p", "c").await.unwrap().is_none());
}

#[tokio::test]
async fn an_empty_transaction_sends_nothing() {
    let table = table().await;
    let transaction = table.transaction("p");
    assert!(transaction.is_empty() && transaction.plan().unwrap().steps.is_empty());
    assert_eq!(transaction.commit().await.unwrap(), []);
}
