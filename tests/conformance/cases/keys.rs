use crate::subject::{Subject, row};
use serde_json::json;
use table_orm::model::Metadata;
use table_orm::query::Span;
use table_orm::store::{Action, ErrorCode, IfMatch};

/// Keys that a URL, a filter or JSON could mistake for something else.
pub const KEYS: [&str; 16] = [
    "O'Brien",
    "''",
    "a b",
    "100%",
    "%27",
    "1+1=2",
    "a&b",
    "a,b",
    "(x)",
    "say \"hi\"",
    ".",
    "..",
    "Zürich 東京",
    "\u{1F3C3}\u{200D}\u{2640}\u{FE0F}",
    "--changeset_1",
    "$batch;:@!*~^`|[]{}<>",
];

pub async fn of_any_characters_come_back(subject: Subject) {
    for (partition_key, row_key) in KEYS.iter().zip(KEYS.iter().rev()) {
        subject.insert(partition_key, row_key, r#""A":1"#).await;
        let body = row(partition_key, row_key, r#""A":2"#);
        let etag = subject.get(partition_key, row_key).await.unwrap().etag().unwrap();
        let merge = Action::Merge(body, IfMatch::ETag(etag));
        subject.write(partition_key, row_key, merge).await.unwrap();
        let read = subject.properties(partition_key, row_key).await;
        assert_eq!(read, Some(json!({"A": 2})), "{partition_key} {row_key}");
        let exact = |key: &str| Span::Exact(key.to_owned());
        let found = subject.keys(subject.query(exact(partition_key), exact(row_key))).await;
        assert_eq!(found, [((*partition_key).to_owned(), (*row_key).to_owned())]);
    }
    for (partition_key, row_key) in KEYS.iter().zip(KEYS.iter().rev()) {
        subject.write(partition_key, row_key, Action::Delete(IfMatch::Any)).await.unwrap();
    }
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await, []);
}

pub async fn sort_by_utf16_code_unit(subject: Subject) {
    // By code point, U+1F3C3 would come last; its first UTF-16 unit is 0xD83C.
    let sorted = ["A", "Z", "a", "a0", "aa", "é", "\u{D7FF}", "\u{1F3C3}", "\u{E000}", "\u{FF5E}"];
    for row_key in sorted.iter().rev() {
        subject.insert("p", row_key, "").await;
    }
    let keys = subject.keys(subject.query(Span::Exact("p".into()), Span::All)).await;
    assert_eq!(keys.iter().map(|(_, row_key)| &**row_key).collect::<Vec<_>>(), sorted);
}

pub async fn are_found_by_prefix(subject: Subject) {
    for row_key in ["BIB:01234__John__M", "BIB:01234__Johnny__M", "BIB:01235", "BIA", "BIC"] {
        subject.insert("p", row_key, "").await;
    }
    let found = |row: Span| subject.keys(subject.query(Span::Exact("p".into()), row));
    assert_eq!(found(Span::prefix("BIB:")).await.len(), 3);
    assert_eq!(found(Span::prefix("BIB:01234__John__")).await.len(), 1);
    assert_eq!(found(Span::prefix("BIB:9")).await.len(), 0);
}

pub async fn the_service_refuses_are_refused(subject: Subject) {
    let long = "x".repeat(513);
    for (key, code) in [
        ("a/b", ErrorCode::OUT_OF_RANGE_INPUT),
        ("a\\b", ErrorCode::OUT_OF_RANGE_INPUT),
        ("a#b", ErrorCode::OUT_OF_RANGE_INPUT),
        ("a?b", ErrorCode::OUT_OF_RANGE_INPUT),
        ("a\tb", ErrorCode::OUT_OF_RANGE_INPUT),
        ("a\u{85}b", ErrorCode::OUT_OF_RANGE_INPUT),
        (&long, ErrorCode::KEY_VALUE_TOO_LARGE),
    ] {
        let get = subject.store.get(&subject.table, "p", key, None, Metadata::None).await;
        assert_eq!(get.unwrap_err().code, code);
        let insert = |partition_key: &str, row_key: &str| {
            let action = Action::Insert(row(partition_key, row_key, ""));
            (partition_key.to_owned(), row_key.to_owned(), action)
        };
        for (partition_key, row_key, action) in [insert(key, "r"), insert("p", key)] {
            let error = subject.write(&partition_key, &row_key, action).await.unwrap_err();
            assert_eq!(error.code, code);
        }
    }
}
