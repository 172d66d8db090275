use crate::subject::{Subject, json, row};
use serde_json::{Value, json};
use table_orm::ETag;
use table_orm::model::{DateTime, Metadata};
use table_orm::query::Span;
use table_orm::store::{Action, ErrorCode, IfMatch};

pub async fn are_inserted_once(subject: Subject) {
    subject.insert("p", "r", r#""A":1"#).await;
    let again = subject.write("p", "r", Action::Insert(row("p", "r", r#""A":2"#))).await;
    let error = again.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::ENTITY_ALREADY_EXISTS, 409));
    assert_eq!(error.operation, None);
    assert_eq!(subject.properties("p", "r").await, Some(json!({"A": 1})));
    assert_eq!(subject.get("p", "none").await, None);
}

pub async fn are_replaced_whole(subject: Subject) {
    let etag = subject.insert("p", "r", r#""A":1,"B":2"#).await;
    let replace = |condition| Action::Replace(row("p", "r", r#""B":3"#), condition);
    subject.write("p", "r", replace(IfMatch::ETag(etag))).await.unwrap();
    assert_eq!(subject.properties("p", "r").await, Some(json!({"B": 3})));
    subject.write("p", "r", replace(IfMatch::Any)).await.unwrap();
}

pub async fn are_merged_property_by_property(subject: Subject) {
    let etag = subject.insert("p", "r", r#""A":1,"B":2"#).await;
    let merge = Action::Merge(row("p", "r", r#""B":"x","C":true"#), IfMatch::ETag(etag));
    subject.write("p", "r", merge).await.unwrap();
    let merged = json!({"A": 1, "B": "x", "C": true});
    assert_eq!(subject.properties("p", "r").await, Some(merged));
}

pub async fn are_upserted_where_they_are_and_where_they_are_not(subject: Subject) {
    for row_key in ["new", "old"] {
        if row_key == "old" {
            subject.insert("p", "old", r#""A":1"#).await;
        }
        let merge = Action::InsertOrMerge(row("p", row_key, r#""B":2"#));
        subject.write("p", row_key, merge).await.unwrap().unwrap();
        let expected = if row_key == "old" { json!({"A": 1, "B": 2}) } else { json!({"B": 2}) };
        assert_eq!(subject.properties("p", row_key).await, Some(expected));
        let replace = Action::InsertOrReplace(row("p", row_key, r#""C":3"#));
        subject.write("p", row_key, replace).await.unwrap().unwrap();
        assert_eq!(subject.properties("p", row_key).await, Some(json!({"C": 3})));
    }
    let replace = Action::InsertOrReplace(row("p", "third", r#""C":3"#));
    subject.write("p", "third", replace).await.unwrap().unwrap();
    assert_eq!(subject.properties("p", "third").await, Some(json!({"C": 3})));
}

pub async fn that_are_absent_are_not_updated(subject: Subject) {
    let body = || row("p", "r", r#""A":1"#);
    for action in [
        Action::Replace(body(), IfMatch::Any),
        Action::Merge(body(), IfMatch::Any),
        Action::Delete(IfMatch::Any),
    ] {
        let name = action.name();
        let error = subject.write("p", "r", action).await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::RESOURCE_NOT_FOUND, 404), "{name}");
    }
    assert_eq!(subject.get("p", "r").await, None);
}

pub async fn are_read_as_selected(subject: Subject) {
    subject.insert("p", "r", r#""A":1,"B":2,"C":3"#).await;
    let select = ["RowKey", "B"];
    let read =
        subject.store.get(&subject.table, "p", "r", Some(&select), Metadata::None).await.unwrap();
    let read: Value = serde_json::from_slice(&read.unwrap().body).unwrap();
    assert_eq!((&read["RowKey"], &read["B"]), (&json!("r"), &json!(2)));
    assert!(read.get("A").is_none() && read.get("C").is_none());

    let mut query = subject.query(Span::All, Span::All);
    query.select = Some(vec!["B".into(), "C".into()]);
    let rows = subject.rows(query).await;
    assert_eq!((&rows[0]["B"], &rows[0]["C"]), (&json!(2), &json!(3)));
    assert!(rows[0].get("A").is_none());
}

/// By which a cache finds out that a row has not changed, without its body.
pub async fn tell_their_version_with_their_timestamp_alone(subject: Subject) {
    let inserted = subject.insert("p", "r", r#""A":"a long text""#).await;
    let get = || {
        let select = Some(&["Timestamp"][..]);
        subject.store.get(&subject.table, "p", "r", select, Metadata::None)
    };
    let version = get().await.unwrap().unwrap();
    assert_eq!(version.etag().unwrap(), inserted);
    let body: Value = serde_json::from_slice(&version.body).unwrap();
    assert!(body.get("A").is_none(), "{body}");
    let replace = Action::Replace(row("p", "r", r#""A":"another""#), IfMatch::Any);
    let replaced = subject.write("p", "r", replace).await.unwrap().unwrap();
    assert_eq!(get().await.unwrap().unwrap().etag().unwrap(), replaced);
    subject.write("p", "r", Action::Delete(IfMatch::Any)).await.unwrap();
    assert_eq!(get().await.unwrap(), None);
}

pub async fn change_their_etag_with_every_write(subject: Subject) {
    let inserted = subject.insert("p", "r", r#""A":1"#).await;
    assert_eq!(subject.get("p", "r").await.unwrap().etag().unwrap(), inserted);
    let same = Action::Replace(row("p", "r", r#""A":1"#), IfMatch::Any);
    let replaced = subject.write("p", "r", same.clone()).await.unwrap().unwrap();
    assert_ne!(inserted, replaced);
    assert_eq!(subject.get("p", "r").await.unwrap().etag().unwrap(), replaced);

    // Rows of a page carry no ETag; it is derived from their timestamp.
    let rows = subject.rows(subject.query(Span::All, Span::All)).await;
    let timestamp = rows[0]["Timestamp"].as_str().unwrap();
    assert_eq!(ETag::from_timestamp(timestamp), replaced);
    let listed = subject.dynamic().list("p", ..).collect().await.unwrap();
    assert_eq!(listed[0].etag, Some(replaced.clone()));
    let read = subject.dynamic().get("p", "r").await.unwrap().unwrap();
    assert_eq!(read.etag, Some(replaced));
}

/// What decides whether a row was there before a write whose answer was lost.
pub async fn get_no_timestamp_from_before_the_write(subject: Subject) {
    for row_key in ["a", "b", "c"] {
        let before = subject.store.service_time();
        subject.insert("p", row_key, r#""A":1"#).await;
        let row = subject.get("p", row_key).await.unwrap();
        let row: Value = serde_json::from_slice(&row.body).unwrap();
        let written: DateTime = row["Timestamp"].as_str().unwrap().parse().unwrap();
        // The answer's time has whole seconds.
        assert!(before.is_none_or(|before| before <= written), "{before:?} {written:?}");
    }
}

pub async fn keep_what_a_stale_etag_would_change(subject: Subject) {
    let stale = || IfMatch::ETag(ETag::new("W/\"datetime'2011-11-06T09%3A10%3A00.0000000Z'\""));
    subject.insert("p", "r", r#""A":1"#).await;
    let body = || row("p", "r", r#""A":2"#);
    for action in
        [Action::Replace(body(), stale()), Action::Merge(body(), stale()), Action::Delete(stale())]
    {
        let name = action.name();
        let error = subject.write("p", "r", action).await.unwrap_err();
        let expected = (ErrorCode::UPDATE_CONDITION_NOT_SATISFIED, 412);
        assert_eq!((error.code, error.status), expected, "{name}");
    }
    assert_eq!(subject.properties("p", "r").await, Some(json!({"A": 1})));
    let current = subject.get("p", "r").await.unwrap().etag().unwrap();
    let deleted = subject.write("p", "r", Action::Delete(IfMatch::ETag(current))).await;
    assert_eq!(deleted.unwrap(), None);
    assert_eq!(subject.get("p", "r").await, None);
}

pub async fn take_their_keys_from_the_address(subject: Subject) {
    for (row_key, body) in
        [("a", r#"{"A":1}"#), ("b", r#"{"PartitionKey":"x","RowKey":"y","A":1}"#)]
    {
        subject.write("p", row_key, Action::Insert(json(body))).await.unwrap();
        assert_eq!(subject.properties("p", row_key).await, Some(json!({"A": 1})));
        subject.write("p", row_key, Action::InsertOrReplace(json(body))).await.unwrap();
    }
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await.len(), 2);
}
