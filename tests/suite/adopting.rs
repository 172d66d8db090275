//! The tables of the guide's chapter "Property types" say what fields write and read.

use bytes::Bytes;
use std::borrow::Cow;
use std::collections::BTreeMap;
use table_orm::model::{DateTime, Edm};
use table_orm::property::Property;
use table_orm::{DynamicEntity, KeyPart, TableEntity, TableName, Tables};
use time::{Date, OffsetDateTime, Time};
use uuid::Uuid;

const CHAPTER: &str = include_str!("../../table-orm/guide/reference/property_types.md");

/// The lines of the chapter's table under these headings.
fn table(headings: &str) -> Vec<&'static str> {
    let lines = CHAPTER.lines().skip_while(|line| *line != headings);
    let rows: Vec<_> = lines.take_while(|line| line.starts_with('|')).collect();
    assert!(!rows.is_empty(), "no table {headings}");
    rows
}

fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<_> = cells.into_iter().collect();
    format!("| {} |", cells.join(" | "))
}

#[derive(KeyPart)]
enum Sex {
    #[key("F")]
    F,
}

#[test]
fn each_field_type_writes_the_type_that_the_chapter_says() {
    const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;
    let mut written = BTreeMap::<&str, Vec<&str>>::new();
    macro_rules! write {
        ($($type:literal: $value:expr),* $(,)?) => {$({
            let edm = $value.edm().unwrap().unwrap().edm_type().name();
            written.entry(edm).or_default().push(concat!("`", $type, "`"));
        })*};
    }
    write! {
        "i8": 1_i8, "i16": 1_i16, "i32": 1_i32, "u8": 1_u8, "u16": 1_u16,
        "i64": 1_i64, "u32": 1_u32, "u64": 1_u64, "usize": 1_usize,
        "f32": 1_f32, "f64": 1_f64,
        "bool": true,
        "String": String::new(), "Cow<str>": Cow::Borrowed(""), "Box<str>": Box::<str>::from(""),
        "char": 'a', "time::Date": Date::MIN.replace_year(2011).unwrap(),
        "time::Time": Time::MIDNIGHT,
        "chrono::NaiveDate": chrono::NaiveDate::default(),
        "chrono::NaiveTime": chrono::NaiveTime::MIN,
        "jiff::civil::Date": jiff::civil::date(2011, 11, 6),
        "jiff::civil::Time": jiff::civil::Time::MIN, "rust_decimal::Decimal": rust_decimal::Decimal::ONE,
        "ulid::Ulid": ulid::Ulid::nil(), "KeyPart enum": Sex::F,
        "DateTime": DateTime::MIN, "time::OffsetDateTime": NOW,
        "chrono::DateTime<Utc>": chrono::DateTime::<chrono::Utc>::UNIX_EPOCH,
        "jiff::Timestamp": jiff::Timestamp::UNIX_EPOCH,
        "uuid::Uuid": Uuid::nil(),
        "Vec<u8>": vec![0_u8], "bytes::Bytes": Bytes::new(),
    }
    let mut expected: Vec<_> =
        written.iter().map(|(edm, types)| row([*edm, &types.join(", ")])).collect();
    let mut documented = table("| Stored as | Field types |").split_off(2);
    documented.sort_unstable();
    expected.sort_unstable();
    assert_eq!(documented, expected, "\n{}", expected.join("\n"));
}

/// The values of the first column, each with its label.
fn stored() -> Vec<(&'static str, Option<Edm>)> {
    let text = |text: &str| Some(Edm::from(text));
    vec![
        ("Int32 `5`", Some(Edm::Int32(5))),
        ("Int64 `5`", Some(Edm::Int64(5))),
        ("Int64 above 2³²", Some(Edm::Int64(1 << 40))),
        ("Double `5.5`", Some(Edm::Double(5.5))),
        ("Double NaN", Some(Edm::Double(f64::NAN))),
        ("Boolean", Some(Edm::Boolean(true))),
        ("DateTime", Some(Edm::DateTime("2023-05-01T10:00:00Z".parse().unwrap()))),
        ("Guid", Some(Edm::Guid(Uuid::nil()))),
        ("Binary", Some(Edm::Binary(vec![1, 2, 3]))),
        ("`\"5\"`", text("5")),
        ("`\"5.5\"`", text("5.5")),
        ("`\"True\"`", text("True")),
        ("`\"\"`", text("")),
        ("`\"Ann O'Neil\"`", text("Ann O'Neil")),
        ("`\"2023-05-01\"`", text("2023-05-01")),
        ("`\"2023-05-01T10:00:00Z\"`", text("2023-05-01T10:00:00Z")),
        ("`\"2023-05-01T10:00:00+02:00\"`", text("2023-05-01T10:00:00+02:00")),
        ("GUID in capitals", text("0F8FAD5B-D9CB-469F-A165-70867728950E")),
        ("GUID without dashes", text("0f8fad5bd9cb469fa16570867728950e")),
        ("GUID in braces", text("{0f8fad5b-d9cb-469f-a165-70867728950e}")),
        ("no property", None),
    ]
}

macro_rules! kinds {
    ($($kind:ident: $type:ty),* $(,)?) => {
        mod kinds {
            use super::*;
            $(
                #[derive(TableEntity)]
                #[table(name = "kinds", partition = "p", row = "{number:03}", allow_single_partition)]
                pub struct $kind {
                    #[table(key_only)]
                    #[allow(dead_code)]
                    pub number: u32,
                    #[allow(dead_code)]
                    pub v: $type,
                }
            )*
        }

        /// Whether each field type reads the row of that number.
        async fn readers(tables: &Tables, number: u32) -> BTreeMap<&'static str, bool> {
            let mut read = BTreeMap::new();
            $({
                use kinds::$kind;
                let key = $kind::partition().row().number(number);
                let got = tables.repo::<$kind>().get(key).await;
                read.insert(stringify!($type), got.is_ok());
            })*
            read
        }
    };
}

kinds! {
    I8: i8, I16: i16, I32: i32, U8: u8, U16: u16, I64: i64, U32: u32, U64: u64, F32: f32, F64: f64,
    Bool: bool, Text: String, Instant: OffsetDateTime, Chrono: chrono::DateTime<chrono::Utc>,
    Jiff: jiff::Timestamp, Day: Date, ChronoDay: chrono::NaiveDate, JiffDay: jiff::civil::Date, Id: Uuid, Blob: Vec<u8>, Optional: Option<String>,
}

/// The columns: groups of field types that read the same values.
const COLUMNS: [(&str, &[&str]); 9] = [
    ("`i32`", &["i8", "i16", "i32", "u8", "u16"]),
    ("`i64`", &["i64", "u64"]),
    ("`f64`", &["f32", "f64"]),
    ("`bool`", &["bool"]),
    ("`String`", &["String"]),
    ("instant", &["OffsetDateTime", "chrono::DateTime<chrono::Utc>", "jiff::Timestamp"]),
    ("`Date`", &["Date", "chrono::NaiveDate", "jiff::civil::Date"]),
    ("`Uuid`", &["Uuid"]),
    ("`Vec<u8>`", &["Vec<u8>"]),
];

#[tokio::test]
async fn each_field_type_reads_what_the_chapter_says_and_refuses_the_rest() {
    let tables = Tables::in_memory().unwrap();
    let name = TableName::new("kinds").unwrap();
    tables.create(&name).await.unwrap();
    let mut expected = Vec::new();
    for (number, (label, value)) in (0..).zip(stored()) {
        let mut old = DynamicEntity::new("p", format!("{number:03}"));
        if let Some(value) = value {
            old = old.with("V", value);
        }
        tables.table(name.clone()).insert(&old).await.unwrap();
        let read = readers(&tables, number).await;
        let cells = COLUMNS.map(|(column, types)| {
            let reads = read[types[0]];
            assert!(types.iter().all(|kind| read[kind] == reads), "{label} in {column}: {read:?}");
            if reads { "reads" } else { "–" }
        });
        let in_u32 = read["u32"];
        assert_eq!(in_u32, read["i64"] && !label.contains("above"), "{label}");
        assert_eq!(read["Option<String>"], read["String"] || label == "no property");
        expected.push(row([label].into_iter().chain(cells)));
    }
    let headings = row(["Stored"].into_iter().chain(COLUMNS.map(|(column, _)| column)));
    let documented = match CHAPTER.contains(&headings) {
        true => table(&headings).split_off(2),
        false => Vec::new(),
    };
    assert_eq!(documented, expected, "\n{headings}\n{}", expected.join("\n"));
}
