use crate::subject::{Subject, row};
use serde_json::json;
use table_orm::DynamicEntity;
use table_orm::model::{DateTime, Edm};
use table_orm::store::Action;
use uuid::Uuid;

/// Every EDM type at its extremes.
pub fn extremes() -> DynamicEntity {
    let instant = |text: &str| Edm::DateTime(text.parse().unwrap());
    DynamicEntity::new("p", "r")
        .with("StringEmpty", "")
        .with("StringQuote", "O'Brien \"said\" \\ \u{1F3C3}\n--changeset_")
        // ASCII: Azurite breaks a character of two bytes that arrives in two pieces.
        .with("StringLong", "x".repeat(32 * 1024))
        .with("Int32Min", i32::MIN)
        .with("Int32Max", i32::MAX)
        .with("Int64Min", i64::MIN)
        .with("Int64Max", i64::MAX)
        .with("Int64Beyond53", 9_007_199_254_740_993_i64)
        .with("Int64Small", 3_i64)
        .with("DoubleMax", f64::MAX)
        .with("DoubleSmallest", 5e-324)
        .with("DoubleTenth", 0.1)
        .with("DoubleInfinity", f64::INFINITY)
        .with("DoubleMinusInfinity", f64::NEG_INFINITY)
        .with("BooleanTrue", true)
        .with("BooleanFalse", false)
        .with("DateTimeMin", DateTime::MIN)
        .with("DateTimeMax", DateTime::MAX)
        .with("DateTimeTick", instant("2011-11-06T09:10:00.0000001Z"))
        .with("DateTimeWhole", instant("2011-11-06T09:10:00Z"))
        .with("GuidNil", Uuid::nil())
        .with("GuidAny", Uuid::from_u128(0xA1B2_C3D4_E5F6_0718_293A_4B5C_6D7E_8F90))
        .with("BinaryEmpty", Vec::new())
        .with("BinaryAll", (0..=255).collect::<Vec<u8>>())
}

pub async fn come_back_with_their_extremes(subject: Subject) {
    let table = subject.dynamic();
    let written = extremes().with("DoubleNaN", f64::NAN).with("DoubleMinusZero", -0.0);
    table.insert(&written).await.unwrap();
    let read = table.get("p", "r").await.unwrap().unwrap();
    let listed = table.list("p", ..).collect().await.unwrap();
    for read in [&read, &listed[0]] {
        for (name, value) in &extremes().properties {
            assert_eq!(read.properties.get(name), Some(value), "{name}");
        }
        assert_eq!(read.properties.len(), written.properties.len());
        let Edm::Double(nan) = read.properties["DoubleNaN"] else { panic!("not a double") };
        assert!(nan.is_nan());
        // Azurite drops the sign.
        assert_eq!(read.properties["DoubleMinusZero"], Edm::Double(0.0));
    }
}

pub async fn of_whole_doubles_stay_double(subject: Subject) {
    let table = subject.dynamic();
    for (row_key, value) in [("three", 3.0), ("large", 1e300), ("zero", 0.0)] {
        table.insert(&DynamicEntity::new("p", row_key).with("D", value)).await.unwrap();
        let read = table.get("p", row_key).await.unwrap().unwrap();
        assert_eq!(read.properties["D"], Edm::Double(value));
    }
}

pub async fn of_nulls_are_absent(subject: Subject) {
    subject.insert("p", "r", r#""A":1,"B":null"#).await;
    assert_eq!(subject.properties("p", "r").await, Some(json!({"A": 1})));
    let merge = Action::InsertOrMerge(row("p", "r", r#""A":null,"C":2"#));
    subject.write("p", "r", merge).await.unwrap();
    assert_eq!(subject.properties("p", "r").await, Some(json!({"A": 1, "C": 2})));
}
