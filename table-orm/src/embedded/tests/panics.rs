//! A panic while requests are applied.

use super::super::super::admit;
use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[tokio::test]
async fn after_a_panic_tables_and_rows_are_there_and_no_etag_comes_again() {
    let people = fixture().await;
    let later = TableName::new("Later").unwrap();
    let mut etags = vec![people.insert("p", "r", "{}").await];
    for round in 0..3 {
        let before = etags[etags.len() - 1].clone();
        let request = admit::write(&people.table, "p", insert(&round.to_string(), "{}")).unwrap();
        let group = [Some(&request), None];
        let requests = group.into_iter().map(|request| request.expect("a request"));
        let engine = &people.store.inner.engine;
        assert!(catch_unwind(AssertUnwindSafe(|| engine.apply(requests))).is_err());

        let again = people.store.create_table(&people.table).await;
        rejected(again, &ErrorCode::TABLE_ALREADY_EXISTS);
        assert_eq!(people.get("p", "r").await.unwrap().etag().unwrap(), before);
        // The group failed, so its request may have taken effect.
        if let Some(row) = people.get("p", &round.to_string()).await {
            etags.push(row.etag().unwrap());
        }
        let replace = Action::Replace(json("{}"), IfMatch::Any);
        etags.push(people.write("p", "r", replace).await.unwrap().unwrap());
        people.store.create_table(&later).await.unwrap();
        people.store.delete_table(&later).await.unwrap();
    }
    assert!(etags.is_sorted_by(|one, next| one.as_str() < next.as_str()), "{etags:?}");
}
