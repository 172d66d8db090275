use super::keys::KEYS;
use crate::subject::{Subject, delete, insert, json, row};
use serde_json::json;
use table_orm::query::Span;
use table_orm::store::{Action, ErrorCode, IfMatch, Operation};
use table_orm::{DynamicEntity, ETag, Error};

fn operation(row_key: &str, action: Action) -> Operation {
    Operation { row_key: row_key.to_owned(), action }
}

pub async fn apply_every_kind_of_operation(subject: Subject) {
    for row_key in ["replaced", "merged", "upserted", "upmerged", "deleted"] {
        subject.insert("p", row_key, r#""A":1"#).await;
    }
    let etag = subject.get("p", "replaced").await.unwrap().etag().unwrap();
    let body = |row_key: &str| row("p", row_key, r#""B":2"#);
    let etags = subject
        .commit(
            "p",
            vec![
                insert("p", "inserted", r#""B":2"#),
                operation("replaced", Action::Replace(body("replaced"), IfMatch::ETag(etag))),
                operation("merged", Action::Merge(body("merged"), IfMatch::Any)),
                operation("upserted", Action::InsertOrReplace(body("upserted"))),
                operation("upmerged", Action::InsertOrMerge(body("upmerged"))),
                operation("new", Action::InsertOrMerge(body("new"))),
                delete("deleted"),
            ],
        )
        .await
        .unwrap();
    let (only, both) = (json!({"B": 2}), json!({"A": 1, "B": 2}));
    for (index, (row_key, expected)) in [
        ("inserted", Some(&only)),
        ("replaced", Some(&only)),
        ("merged", Some(&both)),
        ("upserted", Some(&only)),
        ("upmerged", Some(&both)),
        ("new", Some(&only)),
        ("deleted", None),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(subject.properties("p", row_key).await.as_ref(), expected, "{row_key}");
        let stored = subject.get("p", row_key).await.map(|row| row.etag().unwrap());
        assert_eq!(etags[index], stored, "{row_key}");
    }
    assert_eq!(etags.len(), 7);
}

pub async fn that_fail_name_the_operation_and_change_nothing(subject: Subject) {
    subject.insert("p", "b", r#""A":1"#).await;
    for (failing, code, status) in [
        (insert("p", "b", ""), ErrorCode::ENTITY_ALREADY_EXISTS, 409),
        (delete("absent"), ErrorCode::RESOURCE_NOT_FOUND, 404),
    ] {
        for at in 0..3 {
            let mut operations: Vec<_> =
                ["x", "y"].iter().map(|row_key| insert("p", row_key, "")).collect();
            operations.insert(at, failing.clone());
            let error = subject.commit("p", operations).await.unwrap_err();
            assert_eq!(
                (error.code, error.status, error.operation),
                (code.clone(), status, Some(at))
            );
        }
        let error = subject.commit("p", vec![failing]).await.unwrap_err();
        assert_eq!((error.code, error.operation), (code, Some(0)));
    }
    let keys = subject.keys(subject.query(Span::All, Span::All)).await;
    assert_eq!(keys, [("p".to_owned(), "b".to_owned())]);
}

pub async fn with_stale_etags_change_nothing(subject: Subject) {
    subject.insert("p", "r", r#""A":1"#).await;
    let stale = ETag::new("W/\"datetime'2011-11-06T09%3A10%3A00.0000000Z'\"");
    let replace = Action::Replace(row("p", "r", r#""A":2"#), IfMatch::ETag(stale));
    let operations = vec![insert("p", "x", ""), operation("r", replace)];
    let error = subject.commit("p", operations).await.unwrap_err();
    let expected = (ErrorCode::UPDATE_CONDITION_NOT_SATISFIED, 412, Some(1));
    assert_eq!((error.code, error.status, error.operation), expected);
    assert_eq!(subject.properties("p", "r").await, Some(json!({"A": 1})));
    assert_eq!(subject.get("p", "x").await, None);
}

pub async fn hold_as_many_operations_as_the_store_says(subject: Subject) {
    let most = subject.store.transaction_operations();
    assert!((99..=100).contains(&most), "{most}");
    let operations =
        |count: usize| (0..count).map(|row| insert("p", &format!("{row:03}"), "")).collect();
    let error = subject.commit("p", operations(most + 1)).await.unwrap_err();
    assert_eq!((error.code, error.operation), (ErrorCode::INVALID_INPUT, Some(most - 1)));
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await, []);
    let etags = subject.commit("p", operations(most)).await.unwrap();
    assert_eq!(etags.iter().flatten().count(), most);
}

pub async fn refuse_a_row_given_twice(subject: Subject) {
    let operations = vec![insert("p", "a", ""), insert("p", "b", ""), delete("a")];
    let error = subject.commit("p", operations).await.unwrap_err();
    assert_eq!((error.code, error.operation), (ErrorCode::INVALID_DUPLICATE_ROW, Some(2)));
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await, []);
}

pub async fn stay_in_their_partition(subject: Subject) {
    // A transaction names one partition, so only a row's body can name another. Azurite would write
    // it there.
    let body = json(r#"{"PartitionKey":"other","RowKey":"b","A":1}"#);
    let operations = vec![insert("p", "a", ""), operation("b", Action::Insert(body))];
    subject.commit("p", operations).await.unwrap();
    let keys = subject.keys(subject.query(Span::All, Span::All)).await;
    assert_eq!(keys, [("p".to_owned(), "a".to_owned()), ("p".to_owned(), "b".to_owned())]);
}

pub async fn over_4_mib_are_rejected(subject: Subject) {
    let texts = |count: usize| {
        let text = "x".repeat(32 * 1024);
        let property = |index| format!(r#""S{index}":"{text}""#);
        (0..count).map(property).collect::<Vec<_>>().join(",")
    };
    // Each row is half a MiB on the wire and a MiB, less its names, as the service counts.
    let operations = |count: usize| {
        (0..count).map(|row| insert("p", &row.to_string(), &texts(15))).collect::<Vec<_>>()
    };
    let error = subject.commit("p", operations(9)).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::REQUEST_BODY_TOO_LARGE, 413));
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await, []);
    assert_eq!(subject.commit("p", operations(8)).await.unwrap().len(), 8);
}

pub async fn of_nothing_are_refused(subject: Subject) {
    let error = subject.commit("p", Vec::new()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_INPUT);
}

pub async fn keep_keys_of_any_characters(subject: Subject) {
    for partition_key in KEYS {
        let operations = KEYS.iter().map(|row_key| insert(partition_key, row_key, "")).collect();
        subject.commit(partition_key, operations).await.unwrap();
        let replaced = KEYS.iter().map(|row_key| {
            let body = row(partition_key, row_key, r#""A":1"#);
            operation(row_key, Action::Replace(body, IfMatch::Any))
        });
        subject.commit(partition_key, replaced.collect()).await.unwrap();
        for row_key in KEYS {
            let read = subject.properties(partition_key, row_key).await;
            assert_eq!(read, Some(json!({"A": 1})), "{partition_key} {row_key}");
        }
    }
    let keys = subject.keys(subject.query(Span::All, Span::All)).await;
    assert_eq!(keys.len(), KEYS.len() * KEYS.len());
}

/// A condition without a write: the properties stay, the version is a new one.
pub async fn require_a_version_by_a_merge_of_nothing(subject: Subject) {
    let old = subject.insert("p", "required", r#""A":1,"B":"x""#).await;
    let nothing = |row_key: &str, etag: &ETag| {
        operation(row_key, Action::Merge(row("p", row_key, ""), IfMatch::ETag(etag.clone())))
    };
    let etags = subject
        .commit("p", vec![nothing("required", &old), insert("p", "new", r#""C":1"#)])
        .await
        .unwrap();
    let stored = subject.get("p", "required").await.unwrap().etag().unwrap();
    assert_eq!(etags[0].as_ref(), Some(&stored));
    assert_ne!(stored, old);
    let properties = subject.properties("p", "required").await.unwrap();
    assert_eq!(properties, json!({"A": 1, "B": "x"}));

    for (row_key, code) in [
        ("required", ErrorCode::UPDATE_CONDITION_NOT_SATISFIED),
        ("absent", ErrorCode::RESOURCE_NOT_FOUND),
    ] {
        let operations = vec![insert("p", "late", r#""C":1"#), nothing(row_key, &old)];
        let error = subject.commit("p", operations).await.unwrap_err();
        assert_eq!((error.code, error.operation), (code.clone(), Some(1)));
        assert!(subject.get("p", "late").await.is_none());
        // By itself, too.
        let Operation { row_key, action } = nothing(row_key, &old);
        assert_eq!(subject.write("p", &row_key, action).await.unwrap_err().code, code);
    }
    let Operation { row_key, action } = nothing("required", &stored);
    let newer = subject.write("p", &row_key, action).await.unwrap().unwrap();
    assert_ne!(newer, stored);
    assert_eq!(subject.properties("p", "required").await.unwrap(), properties);
}

pub async fn delete_in_one_version_only(subject: Subject) {
    let old = subject.insert("p", "r", r#""A":1"#).await;
    let action = Action::Merge(row("p", "r", r#""A":2"#), IfMatch::ETag(old.clone()));
    let new = subject.write("p", "r", action).await.unwrap().unwrap();
    let delete = |etag: &ETag| operation("r", Action::Delete(IfMatch::ETag(etag.clone())));
    let stale = subject.write("p", "r", delete(&old).action).await.unwrap_err();
    assert_eq!(stale.code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    let stale = subject.commit("p", vec![insert("p", "s", ""), delete(&old)]).await.unwrap_err();
    assert_eq!(stale.code, ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
    assert_eq!(stale.operation, Some(1));
    subject.commit("p", vec![insert("p", "s", ""), delete(&new)]).await.unwrap();
    let gone = subject.write("p", "r", delete(&new).action).await.unwrap_err();
    assert_eq!(gone.code, ErrorCode::RESOURCE_NOT_FOUND);
}

pub async fn of_untyped_rows_hold_whole(subject: Subject) {
    let table = subject.dynamic();
    let row = |key: &str| DynamicEntity::new("p", key).with("A", 1_i32);
    for key in ["merged", "deleted"] {
        table.insert(&row(key).with("Old", true)).await.unwrap();
    }
    let transaction = |last: &str| {
        let transaction =
            table.transaction("p").insert(&row("inserted")).insert_or_replace(&row("over"));
        transaction.merge(&row("merged").with("B", 2_i32)).delete(&row(last))
    };
    let refused = transaction("absent").commit().await.unwrap_err();
    assert!(matches!(refused, Error::NotFound(_)), "{refused}");
    assert_eq!(refused.rejection().unwrap().row_key, "absent");
    assert!(table.get("p", "inserted").await.unwrap().is_none());
    let etags = transaction("deleted").commit().await.unwrap();
    assert_eq!(etags.len(), 4);
    let stored = table.list("p", ..).collect().await.unwrap();
    let keys: Vec<_> = stored.iter().map(|row| (&*row.row_key, row.properties.len())).collect();
    assert_eq!(keys, [("inserted", 1), ("merged", 3), ("over", 1)]);
    // Rows as they were read are deleted in that version alone.
    table.insert_or_replace(&row("over")).await.unwrap();
    let report = table.delete_many(stored).continue_on_failure().await;
    let [failure] = &report.failures[..] else { panic!("{report:?}") };
    assert_eq!(
        (report.written.rows, failure.entity.as_ref().unwrap().row_key.as_str()),
        (2, "over")
    );
    assert!(matches!(failure.error, Error::Conflict(_)), "{}", failure.error);
    assert_eq!(table.list("p", ..).count().await.unwrap(), 1);
}
