//! Each limit: the largest accepted value, and the smallest rejected one.

use super::*;

async fn insert(body: &str) -> Result<Option<ETag>, StoreError> {
    fixture().await.write("p", "r", Action::Insert(json(body))).await
}

#[tokio::test]
async fn keys_have_the_characters_that_the_service_accepts() {
    let people = fixture().await;
    for bad in ["/", "\\", "#", "?", "\0", "\u{1F}", "\n", "\u{7F}", "\u{9F}"] {
        let code = &ErrorCode::OUT_OF_RANGE_INPUT;
        rejected(people.write(bad, "r", Action::Insert(json("{}"))).await, code);
        rejected(people.write("p", bad, Action::Delete(IfMatch::Any)).await, code);
        rejected(people.store.get(&people.table, "p", bad, None, Metadata::None).await, code);
        let batch = vec![
            operation("a", Action::Delete(IfMatch::Any)),
            operation(bad, Action::Delete(IfMatch::Any)),
        ];
        assert_eq!(rejected(people.commit(batch).await, code).operation, Some(1));
    }
    for good in
        ["", " ", "%", "'", "\"", "a+b&c=d,(e)", "..", "\u{A0}", "é", "\u{FFFF}", "\u{1F3C3}"]
    {
        people.insert(good, good, "{}").await;
        assert!(people.get(good, good).await.is_some(), "{good:?}");
    }
}

#[tokio::test]
async fn keys_have_at_most_512_utf16_units() {
    let people = fixture().await;
    for unit in ["a", "\u{E9}", "\u{FFFD}"] {
        people.insert(&unit.repeat(512), &unit.repeat(512), "{}").await;
        let code = &ErrorCode::KEY_VALUE_TOO_LARGE;
        rejected(people.write(&unit.repeat(513), "r", Action::Insert(json("{}"))).await, code);
        rejected(people.write("p", &unit.repeat(513), Action::Insert(json("{}"))).await, code);
    }
    people.insert(&"\u{1F3C3}".repeat(256), "r", "{}").await;
    let long = "\u{1F3C3}".repeat(256) + "a";
    rejected(
        people.write("p", &long, Action::Insert(json("{}"))).await,
        &ErrorCode::KEY_VALUE_TOO_LARGE,
    );
}

#[tokio::test]
async fn property_names_are_identifiers_of_at_most_255_characters() {
    for good in ["A", "_", "_1", "a1_", "Größe", "\u{540D}", &"a".repeat(255)] {
        insert(&format!(r#"{{"{good}":1}}"#)).await.unwrap();
    }
    for bad in ["", "1a", "a-b", "a b", "a.b", "a@b", "a\\n", "A@odata.etag"] {
        rejected(insert(&format!(r#"{{"{bad}":1}}"#)).await, &ErrorCode::PROPERTY_NAME_INVALID);
    }
    let long = format!(r#"{{"{}":1}}"#, "a".repeat(256));
    rejected(insert(&long).await, &ErrorCode::PROPERTY_NAME_TOO_LONG);
}

fn properties(count: usize) -> String {
    let members: Vec<_> = (0..count).map(|index| format!(r#""P{index}":{index}"#)).collect();
    format!("{{{}}}", members.join(","))
}

#[tokio::test]
async fn an_entity_has_at_most_252_properties() {
    insert(&properties(252)).await.unwrap();
    rejected(insert(&properties(253)).await, &ErrorCode::TOO_MANY_PROPERTIES);
    let with_null = properties(252).replace("{\"P0\"", "{\"Gone\":null,\"P0\"");
    insert(&with_null).await.unwrap();

    let people = fixture().await;
    people.insert("p", "r", &properties(252)).await;
    let merge = |body: &str| Action::Merge(json(body), IfMatch::Any);
    people.write("p", "r", merge(r#"{"P0":7}"#)).await.unwrap();
    rejected(people.write("p", "r", merge(r#"{"Q":7}"#)).await, &ErrorCode::TOO_MANY_PROPERTIES);
}

#[tokio::test]
async fn a_string_has_at_most_64_kib() {
    for (unit, units) in [("a", 1), ("é", 1), ("\u{1F3C3}", 2), ("\\n", 1), ("\\ud83c\\udfc3", 2)]
    {
        let text = unit.repeat(32 * 1024 / units);
        insert(&format!(r#"{{"S":"{text}"}}"#)).await.unwrap();
        let body = format!(r#"{{"S":"{text}a"}}"#);
        rejected(insert(&body).await, &ErrorCode::PROPERTY_VALUE_TOO_LARGE);
    }
}

#[tokio::test]
async fn a_binary_has_at_most_64_kib() {
    use base64::Engine;
    let body = |bytes: usize| {
        let text = base64::engine::general_purpose::STANDARD.encode(vec![7; bytes]);
        format!(r#"{{"B":"{text}","B@odata.type":"Edm.Binary"}}"#)
    };
    insert(&body(64 * 1024)).await.unwrap();
    rejected(insert(&body(64 * 1024 + 1)).await, &ErrorCode::PROPERTY_VALUE_TOO_LARGE);
}

/// A row whose size by the documented formula is 1 MiB plus `more` bytes.
fn mebibyte(more: usize) -> String {
    // 4 + 2 * len("pr"), then 15 properties of 8 + 2 * 1 + 4 + 64 KiB, then the rest.
    let mut members: Vec<_> =
        ('A'..='O').map(|name| format!(r#""{name}":"{}""#, "x".repeat(32 * 1024))).collect();
    let used = 8 + 15 * (14 + 64 * 1024);
    let rest = 1024 * 1024 - used - (8 + 2 + 4);
    assert_eq!(rest % 2, 0);
    members.push(format!(r#""Z":"{}""#, "x".repeat(rest / 2)));
    if more > 0 {
        // One name longer by one character: two bytes.
        members[0] = members[0].replacen("\"A\"", "\"AA\"", 1);
    }
    format!("{{{}}}", members.join(","))
}

#[tokio::test]
async fn an_entity_has_at_most_1_mib() {
    insert(&mebibyte(0)).await.unwrap();
    rejected(insert(&mebibyte(1)).await, &ErrorCode::ENTITY_TOO_LARGE);

    let people = fixture().await;
    people.insert("p", "r", &mebibyte(0)).await;
    let merge = |body: &str| Action::InsertOrMerge(json(body));
    people.write("p", "r", merge(r#"{"Z":1}"#)).await.unwrap();
    people.write("p", "r", merge(r#"{"Y":1}"#)).await.unwrap();
    let large = format!(r#"{{"X":"{}"}}"#, "x".repeat(32 * 1024));
    rejected(people.write("p", "r", merge(&large)).await, &ErrorCode::ENTITY_TOO_LARGE);
}

#[tokio::test]
async fn values_have_their_type() {
    for body in [
        r#"{"A":2147483648}"#,
        r#"{"A":5,"A@odata.type":"Edm.Int64"}"#,
        r#"{"A":"x","A@odata.type":"Edm.Guid"}"#,
        r#"{"A":"x","A@odata.type":"Edm.DateTime"}"#,
        r#"{"A":"%","A@odata.type":"Edm.Binary"}"#,
        r#"{"A":[1]}"#,
        r#"{"A":{}}"#,
        r#"{"A@odata.type":"Edm.Int64"}"#,
        r#"{"RowKey":5}"#,
        "[]",
        "5",
        "",
        "{\"A\":1",
        "{\"A\":tru}",
        "{} {}",
    ] {
        rejected(insert(body).await, &ErrorCode::INVALID_INPUT);
    }
    rejected(insert(r#"{"A":1,"A@odata.type":"Edm.Byte"}"#).await, &ErrorCode::INVALID_VALUE_TYPE);
    let twice = &ErrorCode::DUPLICATE_PROPERTIES_SPECIFIED;
    rejected(insert(r#"{"A":1,"A":2}"#).await, twice);
    rejected(insert(r#"{"RowKey":"r","RowKey":"r"}"#).await, twice);
    let bytes = Bytes::from_static(b"{\"A\":\"\xFF\"}");
    let people = fixture().await;
    rejected(people.write("p", "r", Action::Insert(bytes)).await, &ErrorCode::INVALID_INPUT);
}
