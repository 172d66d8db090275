use super::*;

#[tokio::test]
async fn a_transaction_applies_all_operations_in_order() {
    let people = fixture().await;
    let etag = people.insert("p", "b", r#"{"A":1}"#).await;
    people.insert("p", "c", "{}").await;
    let etags = people
        .commit(vec![
            insert("z", "{}"),
            operation("b", Action::Replace(json(r#"{"A":2}"#), IfMatch::ETag(etag))),
            operation("c", Action::Delete(IfMatch::Any)),
            operation("a", Action::InsertOrMerge(json("{}"))),
        ])
        .await
        .unwrap();
    assert_eq!(etags.len(), 4);
    assert_eq!(etags[2], None);
    for (row_key, etag) in [("z", &etags[0]), ("b", &etags[1]), ("a", &etags[3])] {
        assert_eq!(people.get("p", row_key).await.map(|row| row.etag().unwrap()), *etag);
    }
    assert_eq!(people.get("p", "c").await, None);
}

#[tokio::test]
async fn a_failed_transaction_names_its_operation_and_applies_nothing() {
    let people = fixture().await;
    let etag = people.insert("p", "taken", r#"{"A":1}"#).await;
    people.write("p", "taken", Action::Merge(json("{}"), IfMatch::Any)).await.unwrap();
    let last = [
        (insert("taken", "{}"), ErrorCode::ENTITY_ALREADY_EXISTS),
        (operation("none", Action::Delete(IfMatch::Any)), ErrorCode::RESOURCE_NOT_FOUND),
        (
            operation("taken", Action::Replace(json("{}"), IfMatch::ETag(etag))),
            ErrorCode::UPDATE_CONDITION_NOT_SATISFIED,
        ),
        (insert("new", r#"{"1":1}"#), ErrorCode::PROPERTY_NAME_INVALID),
        (insert("a", "{}"), ErrorCode::INVALID_DUPLICATE_ROW),
    ];
    let before = people.keys(people.query(KeyRange::ALL)).await;
    for (operation, code) in last {
        let operations = vec![insert("a", "{}"), insert("b", "{}"), operation];
        let error = rejected(people.commit(operations).await, &code);
        assert_eq!(error.operation, Some(2));
        assert_eq!(people.keys(people.query(KeyRange::ALL)).await, before);
    }
}

#[tokio::test]
async fn a_transaction_holds_1_to_100_operations() {
    let people = fixture().await;
    let inserts = |count| (0..count).map(|row| insert(&format!("{row:03}"), "{}")).collect();
    let code = &ErrorCode::INVALID_INPUT;
    rejected(people.commit(Vec::new()).await, code);
    let error = rejected(people.commit(inserts(101)).await, code);
    assert_eq!(error.operation, Some(99));
    assert_eq!(
        error.message,
        "99:The batch request operation exceeds the maximum 100 changes per change set."
    );
    assert_eq!(people.commit(inserts(100)).await.unwrap().len(), 100);
}

#[tokio::test]
async fn a_transaction_has_at_most_4_mib() {
    let people = fixture().await;
    // Rows of about 120 KiB, then one that fills the rest.
    let text = "x".repeat(30 * 1024);
    let body = format!(r#"{{"A":"{text}","B":"{text}","C":"{text}","D":"{text}"}}"#);
    let row_bytes = "p00".len() + body.len();
    let fits = 4 * 1024 * 1024 / row_bytes;
    let rest = 4 * 1024 * 1024 - fits * row_bytes - "pzz".len();
    let inserts = |more: usize| {
        let mut operations: Vec<_> =
            (0..fits).map(|row| insert(&format!("{row:02}"), &body)).collect();
        let spaces = " ".repeat(rest - 2 + more);
        operations.push(insert("zz", &format!("{{{spaces}}}")));
        operations
    };
    let error = rejected(people.commit(inserts(1)).await, &ErrorCode::REQUEST_BODY_TOO_LARGE);
    assert_eq!((error.operation, error.status), (None, 413));
    people.commit(inserts(0)).await.unwrap();
}
