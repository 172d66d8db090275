use super::*;
use crate::model::{Continuation, Edm, order};
use crate::query::{Comparison, Filter};
use std::ops::Bound;

async fn filled(rows: usize) -> Fixture {
    let people = fixture().await;
    for chunk in (0..rows).collect::<Vec<_>>().chunks(100) {
        let operations =
            chunk.iter().map(|row| insert(&format!("{row:05}"), &format!(r#"{{"N":{row}}}"#)));
        people.commit(operations.collect()).await.unwrap();
    }
    people
}

#[tokio::test]
async fn rows_come_in_utf16_order_of_partition_key_then_row_key() {
    let people = fixture().await;
    let mut texts = vec![
        "",
        " ",
        "a",
        "a ",
        "aa",
        "ab",
        "b",
        "é",
        "\u{D7FF}",
        "\u{1F3C3}",
        "\u{E000}",
        "\u{FFFF}",
    ];
    for partition_key in texts.iter().rev() {
        for row_key in &texts {
            people.insert(partition_key, row_key, "{}").await;
        }
    }
    texts.sort_by(|left, right| order::compare(left, right));
    let expected: Vec<_> = texts
        .iter()
        .flat_map(|partition_key| {
            texts.iter().map(|row_key| (partition_key.to_string(), row_key.to_string()))
        })
        .collect();
    let mut query = people.query(KeyRange::ALL);
    query.top = Some(7);
    assert_eq!(people.keys(query).await.0, expected);
    let (rows, _) = people.keys(people.query(partition("a"))).await;
    assert_eq!(rows.len(), texts.len(), "`a` is not a prefix here");
}

#[tokio::test]
async fn paging_visits_every_row_once() {
    let people = filled(2_500).await;
    let expected: Vec<_> = (0..2_500).map(|row| ("p".to_owned(), format!("{row:05}"))).collect();
    for (top, pages) in
        [(None, 3), (Some(1000), 3), (Some(500), 5), (Some(999), 3), (Some(1), 2_500)]
    {
        let mut query = people.query(partition("p"));
        query.top = top;
        assert_eq!(people.keys(query).await, (expected.clone(), pages), "{top:?}");
    }
}

#[tokio::test]
async fn a_page_survives_the_deletion_of_the_row_it_continues_with() {
    let people = filled(10).await;
    let mut query = people.query(partition("p"));
    query.top = Some(5);
    query.continuation = people.store.query(&query).await.unwrap().continuation;
    people.write("p", "00005", Action::Delete(IfMatch::Any)).await.unwrap();
    let page = people.store.query(&query).await.unwrap();
    let keys: Vec<_> = rows(&page).iter().map(|row| key(row, "RowKey")).collect();
    assert_eq!(keys, ["00006", "00007", "00008", "00009"]);
    assert_eq!(page.continuation, None);
}

#[tokio::test]
async fn a_page_ends_after_the_most_rows_that_it_may_read() {
    let people = filled(crate::embedded::MAX_SCANNED_ROWS + 50).await;
    let mut query = people.query(KeyRange::ALL);
    query.filter = Some(Filter::compare("N", Comparison::GreaterOrEqual, 10_020));
    let first = people.store.query(&query).await.unwrap();
    assert_eq!(first.body, json(r#"{"value":[]}"#));
    query.continuation = Some(first.continuation.expect("an empty page is not the end"));
    let second = people.store.query(&query).await.unwrap();
    assert_eq!(rows(&second).len(), 30);
    assert_eq!(second.continuation, None);
}

#[tokio::test]
async fn a_page_ends_with_the_row_that_makes_it_large() {
    let people = fixture().await;
    let note = "n".repeat(30_000);
    for number in 0..20 {
        let body = format!(r#"{{"A":"{}","B":{number}}}"#, note);
        people.insert("p", &format!("{number:05}"), &body).await;
    }
    let (all, pages) = people.keys(people.query(partition("p"))).await;
    assert_eq!((all.len(), pages), (20, 1));
    // Sixteen properties of 30,000 characters: half a megabyte.
    let large: Vec<_> = (0..16).map(|name| format!(r#""P{name}":"{}""#, note)).collect();
    for number in 0..20 {
        people.insert("q", &format!("{number:05}"), &format!("{{{}}}", large.join(","))).await;
    }
    let mut query = people.query(partition("q"));
    let first = people.store.query(&query).await.unwrap();
    assert!((crate::embedded::MAX_PAGE_BYTES..5_000_000).contains(&first.body.len()));
    assert_eq!(rows(&first).len(), 9);
    let (all, pages) = people.keys(query.clone()).await;
    assert_eq!((all.len(), pages), (20, 3));
    query.top = Some(9);
    assert_eq!(people.keys(query.clone()).await.1, 3);
    // What is not selected does not count.
    query.top = None;
    query.select = Some(vec!["PartitionKey".into(), "RowKey".into()]);
    assert_eq!(people.keys(query).await.1, 1);
}

#[tokio::test]
async fn a_range_returns_exactly_its_rows() {
    let people = fixture().await;
    for partition_key in ["a", "ab", "b", "c"] {
        for row_key in ["", "1", "11", "2", "3"] {
            people.insert(partition_key, row_key, "{}").await;
        }
    }
    let between = |lower: &str, upper: &str| {
        Span::Between(Bound::Included(lower.to_owned()), Bound::Excluded(upper.to_owned()))
    };
    let exact = |key: &str| Span::Exact(key.to_owned());
    let above = |key: &str| Span::Between(Bound::Excluded(key.to_owned()), Bound::Unbounded);
    let inverted = between("z", "a");
    for (keys, expected) in [
        (KeyRange { partition: exact("a"), row: exact("1") }, "a1"),
        (KeyRange { partition: exact("a"), row: exact("9") }, ""),
        (KeyRange { partition: exact("x"), row: Span::All }, ""),
        (KeyRange { partition: exact("ab"), row: Span::prefix("1") }, "ab1 ab11"),
        (KeyRange { partition: exact("ab"), row: between("11", "3") }, "ab11 ab2"),
        (KeyRange { partition: exact("ab"), row: above("11") }, "ab2 ab3"),
        (KeyRange { partition: Span::prefix("a"), row: exact("2") }, "a2 ab2"),
        (KeyRange { partition: between("a", "b"), row: Span::prefix("1") }, "a1 a11 ab1 ab11"),
        (KeyRange { partition: above("ab"), row: above("2") }, "b3 c3"),
        (KeyRange { partition: Span::All, row: exact("") }, "a ab b c"),
        (KeyRange { partition: inverted.clone(), row: Span::All }, ""),
        (KeyRange { partition: exact("a"), row: inverted.clone() }, ""),
        (KeyRange { partition: Span::All, row: inverted }, ""),
    ] {
        for top in [None, Some(1)] {
            let mut query = people.query(keys.clone());
            query.top = top;
            let (rows, pages) = people.keys(query).await;
            let found: Vec<_> = rows.iter().map(|(left, right)| format!("{left}{right}")).collect();
            assert_eq!(found.join(" "), expected, "{keys:?}");
            assert!(pages <= found.len().max(1), "no needless page: {keys:?}");
        }
    }
}

#[tokio::test]
async fn the_page_request_is_checked() {
    let people = fixture().await;
    let code = &ErrorCode::INVALID_INPUT;
    for top in [0, 1001, u16::MAX] {
        let mut query = people.query(KeyRange::ALL);
        query.top = Some(top);
        rejected(people.store.query(&query).await, code);
    }
    let filter = |comparisons: i32| {
        (1..comparisons).fold(Filter::compare("A", Comparison::Equal, 0), |filter, value| {
            filter.or(Filter::compare("A", Comparison::Equal, value))
        })
    };
    let mut query = people.query(partition("p"));
    query.filter = Some(filter(14));
    people.store.query(&query).await.unwrap();
    query.filter = Some(filter(15));
    rejected(people.store.query(&query).await, code);

    let mut query = people.query(KeyRange::ALL);
    query.continuation = Some(Continuation {
        next_partition_key: Some("1!8!cA--".into()),
        next_row_key: Some("1!8!cg--".into()),
    });
    rejected(people.store.query(&query).await, code);
}

#[tokio::test]
async fn filters_and_selections_apply_to_each_row() {
    let people = filled(20).await;
    people.insert("p", "other", r#"{"N":"5","N@odata.type":"Edm.Int64"}"#).await;
    let mut query = people.query(partition("p"));
    query.select = Some(vec!["RowKey".into(), "N".into()]);
    let page = |query: RowQuery| {
        let store = people.store.clone();
        async move { store.query(&query).await.unwrap().body }
    };
    let compare = |property, comparison, value: Edm| Filter::compare(property, comparison, value);
    query.filter = Some(compare("N", Comparison::Less, Edm::Int32(2)).or(compare(
        "RowKey",
        Comparison::Equal,
        "00007".into(),
    )));
    assert_eq!(
        page(query.clone()).await,
        json(
            r#"{"value":[{"RowKey":"00000","N":0},{"RowKey":"00001","N":1},{"RowKey":"00007","N":7}]}"#
        )
    );
    query.filter = Some(compare("N", Comparison::GreaterOrEqual, Edm::Int64(5)));
    assert_eq!(
        page(query.clone()).await,
        json(r#"{"value":[{"RowKey":"other","N":"5","N@odata.type":"Edm.Int64"}]}"#)
    );
    query.filter = Some(!compare("N", Comparison::GreaterOrEqual, Edm::Int32(1)));
    assert_eq!(
        page(query).await,
        json(
            r#"{"value":[{"RowKey":"00000","N":0},{"RowKey":"other","N":"5","N@odata.type":"Edm.Int64"}]}"#
        ),
        "what does not compare does not hold"
    );
}

#[tokio::test]
async fn every_type_is_filtered_by_its_own_literal() {
    let people = fixture().await;
    let guid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    people
        .insert(
            "p",
            "r",
            &format!(
                r#"{{"S":"O'Brien","I":-1,"L":"9007199254740993","L@odata.type":"Edm.Int64","D":1.5,
                "D@odata.type":"Edm.Double","B":false,"T":"2011-11-06T09:10:00Z",
                "T@odata.type":"Edm.DateTime","G":"{guid}","G@odata.type":"Edm.Guid","X":"AQI=",
                "X@odata.type":"Edm.Binary"}}"#
            ),
        )
        .await;
    let when: crate::model::DateTime = "2011-11-06T09:10:00Z".parse().unwrap();
    for (property, value) in [
        ("S", Edm::from("O'Brien")),
        ("I", Edm::from(-1)),
        ("L", Edm::from(9_007_199_254_740_993_i64)),
        ("D", Edm::from(1.5)),
        ("B", Edm::from(false)),
        ("T", Edm::from(when)),
        ("G", Edm::from(uuid::Uuid::parse_str(guid).unwrap())),
        ("X", Edm::from(vec![1_u8, 2])),
        ("PartitionKey", Edm::from("p")),
        ("RowKey", Edm::from("r")),
    ] {
        for (comparison, expected) in [
            (Comparison::Equal, 1),
            (Comparison::GreaterOrEqual, 1),
            (Comparison::LessOrEqual, 1),
            (Comparison::NotEqual, 0),
            (Comparison::Greater, 0),
            (Comparison::Less, 0),
        ] {
            let mut query = people.query(partition("p"));
            query.filter = Some(Filter::compare(property, comparison, value.clone()));
            let found = people.keys(query).await.0.len();
            assert_eq!(found, expected, "{property} {}", comparison.name());
        }
    }
}
