//! Random filters, against an evaluation of their own: what a filter means does not depend on how it is
//! written, and neither on the pages in which its rows come.

use crate::client::{Client, text};
use proptest::prelude::*;
use serde_json::Value as Json;
use std::cmp::Ordering;
use std::fmt::Write as _;
use table_orm::azure::protocol::percent_encode;

/// A value of a property or of a filter.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(&'static str),
    Int32(i32),
    Int64(i64),
    Double(f64),
    Boolean(bool),
    Instant(&'static str),
    Guid(&'static str),
    Binary(&'static [u8]),
}

use Value::{Binary, Boolean, Double, Guid, Instant, Int32, Int64, Text};

const PROPERTIES: [&str; 11] =
    ["PartitionKey", "RowKey", "T", "I", "L", "D", "B", "W", "G", "X", "Absent"];
const TEXTS: [&str; 8] = ["", "a", "aB", "b", "it's", "and", "\u{E000}", "\u{1F3C3}"];
const GUIDS: [&str; 2] =
    ["0f8fad5b-d9cb-469f-a165-70867728950e", "1f8fad5b-d9cb-469f-a165-70867728950e"];
const INSTANTS: [&str; 3] = [
    "2011-11-06T09:10:00.0000000Z",
    "2011-11-06T09:10:00.0000001Z",
    "2012-01-01T00:00:00.0000000Z",
];
const BINARIES: [&[u8]; 3] = [b"", b"\x00", b"\xff\x01"];

impl Value {
    /// How the value compares with another of its type.
    fn compare(&self, other: &Self) -> Option<Ordering> {
        Some(match (self, other) {
            (Text(left), Text(right)) => left.encode_utf16().cmp(right.encode_utf16()),
            (Int32(left), Int32(right)) => left.cmp(right),
            (Int64(left), Int64(right)) => left.cmp(right),
            (Double(left), Double(right)) => left.partial_cmp(right)?,
            (Boolean(left), Boolean(right)) => left.cmp(right),
            (Instant(left), Instant(right)) | (Guid(left), Guid(right)) => left.cmp(right),
            (Binary(left), Binary(right)) => left.cmp(right),
            _ => return None,
        })
    }

    /// The member of a row's JSON.
    fn member(&self, name: &str) -> String {
        let typed =
            |edm: &str, text: &str| format!(r#""{name}":"{text}","{name}@odata.type":"Edm.{edm}""#);
        match self {
            Text(text) => format!(r#""{name}":{}"#, Json::from(*text)),
            Int32(number) => format!(r#""{name}":{number}"#),
            Boolean(flag) => format!(r#""{name}":{flag}"#),
            Int64(number) => typed("Int64", &number.to_string()),
            Double(number) => typed("Double", &number.to_string()),
            Instant(text) => typed("DateTime", text),
            Guid(text) => typed("Guid", text),
            Binary(bytes) => {
                use base64::Engine as _;
                typed("Binary", &base64::engine::general_purpose::STANDARD.encode(bytes))
            }
        }
    }

    /// The literal of a filter, in one of its forms.
    fn literal(&self, form: u8) -> String {
        match (self, form % 3) {
            (Text(text), _) => format!("'{}'", text.replace('\'', "''")),
            (Int32(number), _) => number.to_string(),
            (Boolean(flag), _) => flag.to_string(),
            (Int64(number), 0) => format!("{number}l"),
            (Int64(number), _) => format!("{number}L"),
            (Double(number), 0) => format!("{number:?}"),
            (Double(number), 1) => format!("{number:e}"),
            (Double(number), _) => format!("{number}d"),
            (Instant(text), 0) if text.ends_with(".0000000Z") => {
                format!("datetime'{}Z'", &text[..text.len() - 9])
            }
            (Instant(text), _) => format!("datetime'{text}'"),
            (Guid(text), 0) => format!("guid'{}'", text.to_uppercase()),
            (Guid(text), _) => format!("guid'{text}'"),
            (Binary(bytes), form) => {
                let digits = bytes.iter().fold(String::new(), |mut text, byte| {
                    write!(text, "{byte:02x}").unwrap();
                    text
                });
                match form {
                    0 => format!("X'{}'", digits.to_uppercase()),
                    1 => format!("X'{digits}'"),
                    _ => format!("binary'{digits}'"),
                }
            }
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    use proptest::sample::select;
    prop_oneof![
        3 => select(&TEXTS[..]).prop_map(Text),
        1 => select(vec![-1, 0, 5, i32::MAX]).prop_map(Int32),
        1 => select(vec![-1, 0, 5, i64::MIN]).prop_map(Int64),
        1 => select(vec![-1.5, 0.0, 5.0, 1e300]).prop_map(Double),
        1 => any::<bool>().prop_map(Boolean),
        1 => select(&INSTANTS[..]).prop_map(Instant),
        1 => select(&GUIDS[..]).prop_map(Guid),
        1 => select(&BINARIES[..]).prop_map(Binary),
    ]
}

/// A row: the values of the properties that it has.
type Row = Vec<(&'static str, Value)>;

/// Rows in order, each property of most of them of its usual type.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut texts = TEXTS;
    texts.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
    for (p, partition) in texts.iter().enumerate() {
        for (r, row) in texts.iter().enumerate() {
            let n = p * TEXTS.len() + r;
            let mut all: Row = vec![("PartitionKey", Text(partition)), ("RowKey", Text(row))];
            let properties = [
                ("T", Text(TEXTS[n % 7])),
                ("I", Int32([-1, 0, 5, i32::MAX][n % 4])),
                ("L", Int64([-1, 0, 5, i64::MIN][n % 4])),
                ("D", Double([-1.5, 0.0, 5.0, 1e300][n % 4])),
                ("B", Boolean(n.is_multiple_of(3))),
                ("W", Instant(INSTANTS[n % 3])),
                ("G", Guid(GUIDS[n % 2])),
                ("X", Binary(BINARIES[n % 3])),
            ];
            let odd = n % 8;
            for (at, (name, value)) in properties.into_iter().enumerate() {
                match (at + n) % 11 {
                    0 => {}
                    // Of another type.
                    1 if at != odd => all.push((name, Text("b"))),
                    _ => all.push((name, value)),
                }
            }
            rows.push(all);
        }
    }
    rows
}

#[derive(Debug, Clone)]
enum Filter {
    Compare {
        property: &'static str,
        operator: &'static str,
        value: Value,
        form: u8,
    },
    /// A boolean property alone.
    Flag(&'static str),
    Not(Box<Filter>),
    All(Box<Filter>, Box<Filter>),
    Any(Box<Filter>, Box<Filter>),
    Group(Box<Filter>),
}

use Filter::{All, Any, Compare, Flag, Group, Not};

impl Filter {
    fn matches(&self, row: &Row) -> bool {
        match self {
            Compare { property, operator, value, .. } => {
                let stored = row.iter().find(|(name, _)| name == property).map(|(_, value)| value);
                let order = stored.and_then(|stored| stored.compare(value));
                order.is_some_and(|order| match *operator {
                    "eq" => order.is_eq(),
                    "ne" => order.is_ne(),
                    "gt" => order.is_gt(),
                    "ge" => order.is_ge(),
                    "lt" => order.is_lt(),
                    _ => order.is_le(),
                })
            }
            Flag(property) => row.contains(&(*property, Boolean(true))),
            Not(inner) => !inner.matches(row),
            All(left, right) => left.matches(row) && right.matches(row),
            Any(left, right) => left.matches(row) || right.matches(row),
            Group(inner) => inner.matches(row),
        }
    }

    /// The text, with the parentheses that it needs.
    fn text(&self) -> String {
        let grouped = |inner: &Self, needs: bool| match inner.text() {
            text if needs => format!("({text})"),
            text => text,
        };
        match self {
            Compare { property, operator, value, form } if form % 4 == 3 => {
                // The sides are swapped.
                let swapped = match *operator {
                    "gt" => "lt",
                    "ge" => "le",
                    "lt" => "gt",
                    "le" => "ge",
                    same => same,
                };
                format!("{} {swapped} {property}", value.literal(*form))
            }
            Compare { property, operator, value, form } => {
                format!("{property} {operator} {}", value.literal(*form))
            }
            Flag(property) => (*property).to_owned(),
            Not(inner) => {
                let needs = matches!(**inner, All(..) | Any(..));
                format!("not {}", grouped(inner, needs))
            }
            All(left, right) => {
                let side = |side: &Self| grouped(side, matches!(side, Any(..)));
                format!("{} and {}", side(left), side(right))
            }
            Any(left, right) => format!("{} or {}", left.text(), right.text()),
            Group(inner) => format!("( {} )", inner.text()),
        }
    }
}

fn filter() -> impl Strategy<Value = Filter> {
    use proptest::sample::select;
    let operator = select(vec!["eq", "ne", "gt", "ge", "lt", "le"]);
    let usual = (select(vec!["T", "I", "L", "D", "B", "W", "G", "X"]), value());
    let compared = prop_oneof![
        3 => (select(vec!["PartitionKey", "RowKey"]), select(&TEXTS[..]).prop_map(Text)),
        3 => usual,
        1 => (select(&PROPERTIES[..]), value()),
    ];
    let leaf = prop_oneof![
        12 => (compared, operator, any::<u8>()).prop_map(|((property, value), operator, form)| {
            Compare { property, operator, value, form }
        }),
        1 => select(vec!["B", "I", "Absent"]).prop_map(Flag),
    ];
    leaf.prop_recursive(4, 15, 2, |inner| {
        let inner = inner.prop_map(Box::new);
        prop_oneof![
            1 => inner.clone().prop_map(Not),
            1 => inner.clone().prop_map(Group),
            3 => (inner.clone(), inner.clone()).prop_map(|(left, right)| All(left, right)),
            2 => (inner.clone(), inner).prop_map(|(left, right)| Any(left, right)),
        ]
    })
    .prop_filter("15 comparisons", |filter| {
        filter.text().matches(" or ").count() + filter.text().matches(" and ").count() < 15
    })
}

/// Returns the keys of the rows of a query, over all its pages.
async fn found(client: &Client, filter: &str, top: u16) -> Vec<(String, String)> {
    let base = format!(
        "/People()?$select=PartitionKey,RowKey&$top={top}&$filter={}",
        percent_encode(filter)
    );
    let (mut target, mut found) = (base.clone(), Vec::new());
    loop {
        let page = client.send("GET", &target, &[], "").await;
        assert_eq!(page.status, 200, "{filter}: {}", text(&page));
        let body: Json = serde_json::from_slice(&page.body).unwrap();
        let rows = body["value"].as_array().unwrap();
        assert!(rows.len() <= top.into());
        let key = |row: &Json, name: &str| row[name].as_str().unwrap().to_owned();
        found.extend(rows.iter().map(|row| (key(row, "PartitionKey"), key(row, "RowKey"))));
        let Some(next) = page.header("x-ms-continuation-nextpartitionkey") else { return found };
        let row = page.header("x-ms-continuation-nextrowkey").unwrap();
        target = format!("{base}&NextPartitionKey={next}&NextRowKey={row}");
    }
}

async fn with_rows() -> Client {
    let client = Client::with_people().await;
    for row in rows() {
        let members: Vec<_> = row.iter().map(|(name, value)| value.member(name)).collect();
        let body = format!("{{{}}}", members.join(","));
        let answer = client.send("POST", "/People", &[], &body).await;
        assert_eq!(answer.status, 201, "{body}: {}", text(&answer));
    }
    client
}

#[test]
fn a_filter_finds_the_rows_that_it_means() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(with_rows());
    let rows = rows();
    let cases = match std::env::var("TABLE_ORM_LONG").as_deref() {
        Ok("1") => 20_000,
        Ok(_) => 1_000,
        Err(_) => 400,
    };
    proptest!(ProptestConfig::with_cases(cases), |(asked in filter(), top in 1..=70_u16)| {
        let key = |row: &Row, at: usize| match row[at].1 {
            Text(text) => text.to_owned(),
            _ => unreachable!(),
        };
        let expected: Vec<_> = rows
            .iter()
            .filter(|row| asked.matches(row))
            .map(|row| (key(row, 0), key(row, 1)))
            .collect();
        let text = asked.text();
        prop_assert_eq!(runtime.block_on(found(&client, &text, top)), expected, "{}", text);
    });
}
