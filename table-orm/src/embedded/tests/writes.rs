use super::*;

#[tokio::test]
async fn a_clean_body_is_stored_byte_for_byte_after_its_timestamp() {
    let people = fixture().await;
    let body =
        r#"{"PartitionKey":"p","RowKey":"r","Chip":"5","Chip@odata.type":"Edm.Int64", "D" : 1.50}"#;
    let etag = people.insert("p", "r", body).await;
    let row = people.get("p", "r").await.unwrap();
    let text = std::str::from_utf8(&row.body).unwrap();
    let (timestamp, rest) =
        text.strip_prefix(r#"{"Timestamp":""#).unwrap().split_once("\",").unwrap();
    assert_eq!(rest, &body[1..]);
    assert_eq!(row.etag().unwrap(), etag);
    assert_eq!(row.etag().unwrap(), ETag::from_timestamp(timestamp));
    assert!(timestamp.parse::<crate::model::DateTime>().is_ok() && timestamp.len() == 28);
}

#[tokio::test]
async fn nulls_and_system_members_are_left_out_and_the_address_wins() {
    let people = fixture().await;
    let body = r#" {"odata.etag":"x","Timestamp":"t","Timestamp@odata.type":"Edm.DateTime",
        "PartitionKey":"other","Gone":null,"Gone@odata.type":"Edm.Int64","Age":5} "#;
    people.insert("p", "say \"hi\"", body).await;
    let row = people.get("p", "say \"hi\"").await.unwrap();
    let text = std::str::from_utf8(&row.body).unwrap();
    assert!(text.ends_with(r#"Z","PartitionKey":"p","RowKey":"say \"hi\"","Age":5}"#), "{text}");
    assert_eq!(text.matches("Timestamp").count(), 1);
    assert_eq!(people.get("other", "say \"hi\"").await, None);
}

#[tokio::test]
async fn each_action_keeps_its_condition() {
    let people = fixture().await;
    let (one, two) = (r#"{"A":1,"B":1}"#, r#"{"B":2}"#);
    let any = || IfMatch::Any;
    let missing = &ErrorCode::RESOURCE_NOT_FOUND;
    rejected(people.write("p", "r", Action::Replace(json(two), any())).await, missing);
    rejected(people.write("p", "r", Action::Merge(json(two), any())).await, missing);
    rejected(people.write("p", "r", Action::Delete(any())).await, missing);

    let first = people.insert("p", "r", one).await;
    let error = rejected(
        people.write("p", "r", Action::Insert(json(one))).await,
        &ErrorCode::ENTITY_ALREADY_EXISTS,
    );
    assert_eq!(error.operation, None, "a single write has no index");

    let merged = people.write("p", "r", Action::Merge(json(two), any())).await.unwrap().unwrap();
    assert_eq!(people.properties("p", "r").await.unwrap(), r#"{"B":2,"A":1}"#);
    let stale = || IfMatch::ETag(first.clone());
    let changed = &ErrorCode::UPDATE_CONDITION_NOT_SATISFIED;
    rejected(people.write("p", "r", Action::Replace(json(two), stale())).await, changed);
    rejected(people.write("p", "r", Action::Merge(json(two), stale())).await, changed);
    rejected(people.write("p", "r", Action::Delete(stale())).await, changed);

    let current = IfMatch::ETag(merged.clone());
    let replaced =
        people.write("p", "r", Action::Replace(json(two), current)).await.unwrap().unwrap();
    assert_eq!(people.properties("p", "r").await.unwrap(), two);
    assert!(merged.as_str() < replaced.as_str());

    people.write("p", "r", Action::InsertOrMerge(json(r#"{"A":3}"#))).await.unwrap();
    assert_eq!(people.properties("p", "r").await.unwrap(), r#"{"A":3,"B":2}"#);
    let last = people.write("p", "r", Action::InsertOrReplace(json("{}"))).await.unwrap().unwrap();
    assert_eq!(people.properties("p", "r").await.unwrap(), "{}");
    assert_eq!(people.write("p", "r", Action::Delete(IfMatch::ETag(last))).await.unwrap(), None);
    assert_eq!(people.get("p", "r").await, None);

    for (row_key, action) in
        [("a", Action::InsertOrMerge(json(one))), ("b", Action::InsertOrReplace(json(one)))]
    {
        people.write("p", row_key, action).await.unwrap();
        assert_eq!(people.properties("p", row_key).await.unwrap(), one);
    }
}

#[tokio::test]
async fn an_etag_never_comes_back_whatever_is_deleted_in_between() {
    let people = fixture().await;
    let mut seen = std::collections::HashSet::new();
    for round in 0..200 {
        // The same bytes each time.
        let inserted = people.insert("p", "r", r#"{"A":1}"#).await;
        let upsert = Operation { row_key: "r".into(), action: Action::InsertOrReplace(json("{}")) };
        let upserted = people.commit(vec![upsert]).await.unwrap().remove(0).unwrap();
        for etag in [&inserted, &upserted] {
            assert!(seen.insert(etag.clone()), "round {round}: {etag} was there before");
        }
        for old in seen.iter().filter(|&old| *old != upserted).take(20) {
            let delete = Action::Delete(IfMatch::ETag(old.clone()));
            let refused = people.write("p", "r", delete).await;
            rejected(refused, &ErrorCode::UPDATE_CONDITION_NOT_SATISFIED);
        }
        if round % 3 == 0 {
            people.store.delete_table(&people.table).await.unwrap();
            people.store.create_table(&people.table).await.unwrap();
        } else {
            let delete = Action::Delete(IfMatch::ETag(upserted));
            people.write("p", "r", delete).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_merge_copies_type_annotations_and_ignores_nulls() {
    let people = fixture().await;
    people.insert("p", "r", r#"{"A":"5","A@odata.type":"Edm.Int64","B":1,"C":true}"#).await;
    let patch = json(r#"{"A":"text","B":null,"D":"7","D@odata.type":"Edm.Int64"}"#);
    people.write("p", "r", Action::Merge(patch, IfMatch::Any)).await.unwrap();
    assert_eq!(
        people.properties("p", "r").await.unwrap(),
        r#"{"A":"text","D":"7","D@odata.type":"Edm.Int64","B":1,"C":true}"#
    );
    let patch = json(r#"{"PartitionKey":"q","RowKey":"s","B":2}"#);
    people.write("p", "r", Action::Merge(patch, IfMatch::Any)).await.unwrap();
    let row: Value = serde_json::from_slice(&people.get("p", "r").await.unwrap().body).unwrap();
    assert_eq!((key(&row, "PartitionKey"), key(&row, "RowKey")), ("p".into(), "r".into()));
    assert_eq!(row["B"], 2);
}

#[tokio::test]
async fn etags_strictly_increase() {
    let people = fixture().await;
    let mut etags = Vec::new();
    for _ in 0..500 {
        let action = Action::InsertOrReplace(json("{}"));
        etags.push(people.write("p", "r", action).await.unwrap().unwrap().to_string());
    }
    assert!(etags.is_sorted_by(|left, right| left < right));
}

#[tokio::test]
async fn a_point_query_returns_the_selected_members() {
    let people = fixture().await;
    let etag = people.insert("p", "r", r#"{"A":1,"B":"2","B@odata.type":"Edm.Int64"}"#).await;
    let select = ["B", "RowKey", "Absent"];
    let row = people
        .store
        .get(&people.table, "p", "r", Some(&select), Metadata::None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.body, json(r#"{"RowKey":"r","B":"2","B@odata.type":"Edm.Int64"}"#));
    assert_eq!(row.etag().unwrap(), etag);
    assert_eq!(
        people.store.get(&people.table, "p", "none", Some(&select), Metadata::None).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn a_name_that_is_sent_with_escapes_is_stored_and_found_without() {
    let people = fixture().await;
    people.insert("p", "r", r#"{"PartitionKey":"p","Row\u004bey":"r","\u0042":5}"#).await;
    assert_eq!(people.properties("p", "r").await.as_deref(), Some(r#"{"B":5}"#));
    let filter = crate::query::Filter::compare("B", crate::query::Comparison::Equal, 5);
    let query = RowQuery { filter: Some(filter), ..people.query(partition("p")) };
    assert_eq!(people.keys(query).await.0.len(), 1);
}
