//! The reader of rows and pages reads what `serde_json` reads.

use super::{OwnRows, ReadRow, read_row, read_rows, split_page};
use crate::codec::Members;
use crate::entity::DynamicEntity;
use crate::property::{PropertyError, RowFault};
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use serde_json::Value;

/// Members as services write them, by name and value; some names have escapes.
const MEMBERS: [(&str, &str); 9] = [
    (r#""PartitionKey""#, r#""p""#),
    (r#""RowKey""#, r#""r\"\u00e9""#),
    (r#""Timestamp""#, r#""2011-11-06T14:10:00.1234567Z""#),
    (r#""A""#, "1"),
    (r#""AB""#, "-2.5e3"),
    (r#""B\u0042""#, "true"),
    (r#""C@odata.type""#, r#""Edm.Int64""#),
    (r#""C""#, r#""9007199254740993""#),
    (r#""é""#, "null"),
];
const SPACES: [&str; 3] = ["", " ", "\r\n\t"];

/// The JSON objects of rows that lack some members, have others in another order, and have any
/// spacing.
fn rows() -> impl Strategy<Value = Vec<String>> {
    let members = subsequence(MEMBERS.to_vec(), 0..=MEMBERS.len());
    let members = prop_oneof![4 => members.clone(), 1 => members.prop_shuffle()];
    let row = (members, prop::sample::select(&SPACES[..])).prop_map(|(members, space)| {
        let member = |(name, value): (&str, &str)| [name, space, ":", space, value].concat();
        let members: Vec<_> = members.into_iter().map(member).collect();
        format!("{space}{{{space}{}{space}}}", members.join(&format!("{space},{space}")))
    });
    prop::collection::vec(row, 0..6)
}

/// Reads every row of a page.
fn read_page<T: ReadRow>(page: &[u8]) -> Result<Vec<T>, PropertyError> {
    read_rows(&OwnRows::ANY, page, None, usize::MAX).map(|(rows, _)| rows)
}

fn page_of(rows: &[String]) -> String {
    format!(r#"{{"odata.metadata":"x","value":[{}],"more":{{}}}}"#, rows.join(","))
}

proptest! {
    #[test]
    fn a_row_in_a_page_is_read_as_by_itself(rows in rows()) {
        let page = page_of(&rows);
        let read = read_page::<DynamicEntity>(page.as_bytes()).unwrap();
        let alone: Vec<DynamicEntity> =
            rows.iter().map(|row| read_row(0, row.as_bytes()).unwrap()).collect();
        prop_assert_eq!(&read, &alone);
        prop_assert_eq!(split_page(page.as_bytes()).unwrap().len(), rows.len());
    }

    #[test]
    fn text_that_is_not_json_is_not_a_page(rows in rows(), at: Index, by in "[{}\\[\\],:\"AB1\t\u{1}\\\\]{0,2}") {
        let mut page = page_of(&rows);
        let characters: Vec<_> = page.char_indices().collect();
        let (start, old) = *at.get(&characters);
        page.replace_range(start..start + old.len_utf8(), &by);
        if read_page::<DynamicEntity>(page.as_bytes()).is_ok() {
            prop_assert!(serde_json::from_str::<Value>(&page).is_ok(), "{}", page);
        }
    }
}

#[test]
fn a_cached_name_matches_only_where_a_name_can_be() {
    for rows in [
        r#"{"A":1,"B":2},,"B":3}"#,
        r#"{"A":1},{"B":1{"A":2}"#,
        r#"{"A":1,"B":2},{"A":1{"A":2}"#,
        r#"{"A":1},"A":2}"#,
        r#"{"A":1},{"A":1,}"#,
        r#"{"A":1,"B":2},{,"B":2}"#,
        r#"{"A":1}{"A":1}"#,
        r#"{"A":1},"#,
        r#",{"A":1}"#,
        r#"{"A":1},{"A":1"#,
        r#"{"A" 1}"#,
        r#"{A:1}"#,
        "{\"A\u{1f}\":1}",
        "{\"PartitionKey\":\"a\tb\"}",
        "{\"PartitionKey\":\"12345678\u{1}2345678\"}",
        "{\"A\":\u{b}1}",
    ] {
        let page = format!(r#"{{"value":[{rows}]}}"#);
        assert!(serde_json::from_str::<Value>(&page).is_err(), "{page}");
        assert!(read_page::<DynamicEntity>(page.as_bytes()).is_err(), "{page}");
    }
    for page in [r#"{"value":[]"#, r#"{"value":[]}}"#, r#"{"value":[]},"#, r#"["value",[]]"#, "{}"]
    {
        assert!(read_page::<DynamicEntity>(page.as_bytes()).is_err(), "{page}");
        assert!(split_page(page.as_bytes()).is_err(), "{page}");
    }
}

#[test]
fn a_row_is_one_object_and_a_page_has_one_value() {
    for row in [r#"{"A":1}x"#, r#"{"A":1}{"#, r#"{"A":1},"#, r#"[{"A":1}]"#, ""] {
        assert!(read_row::<DynamicEntity>(0, row.as_bytes()).is_err(), "{row}");
    }
    let twice = r#"{"value":[{"A":1}],"value":[{"A":1},{"A":1}]}"#;
    assert_eq!(read_page::<DynamicEntity>(twice.as_bytes()).unwrap().len(), 1);
    assert_eq!(split_page(twice.as_bytes()).unwrap().len(), 1);
    let error = read_page::<DynamicEntity>(b"{\"value\":[]\x01}").unwrap_err();
    assert_eq!(error.to_string(), r"the row cannot be read: expected `,` or `}`, found '\u{1}'");
}

/// A property that is skipped when its value is of another type.
#[derive(Debug, PartialEq)]
struct Lenient(Vec<u8>);

impl ReadRow for Lenient {
    const NAME: &'static str = "Lenient";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let mut values = Vec::new();
        while let Some(name) = members.next_name()? {
            let mut slot = None;
            if members.read::<u8>(&name, &mut slot).is_ok() {
                values.extend(slot);
            }
        }
        Ok(Self(values))
    }
}

/// The names of a row's properties, and its keys and version.
#[derive(Debug, PartialEq)]
struct Named(Vec<String>, [String; 3]);

impl ReadRow for Named {
    const NAME: &'static str = "Named";

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let mut names = Vec::new();
        while let Some(name) = members.next_property()? {
            members.other(&name)?;
            names.push(name.into_owned());
        }
        let (partition_key, row_key) = (members.partition_key(), members.row_key());
        let texts = [&partition_key, &row_key, members.etag().as_str()].map(str::to_owned);
        Ok(Self(names, texts))
    }
}

#[test]
fn the_keys_version_and_types_of_each_row_are_no_properties() {
    let types = [
        r#""Edm.Int64""#,
        r#""Edm.Int64""#,
        r#""Edm.Int""#,
        r#""Edm.Int64x""#,
        r#""Edm\u002eInt64""#,
        r#" "Edm.Int64" "#,
        "1",
        "12",
        "null",
        r#"["Edm.Int64"]"#,
    ];
    let row = |(n, edm): (usize, &&str)| {
        format!(
            r#"{{"odata.etag":"e{n}","PartitionKey":"p{n}","A@odata.type":{edm},"A":{n},"RowKey":"r{n}","B":"x","B\u0040odata.type":{edm},"Timestamp":"t","C@odata.type":{edm}}}"#
        )
    };
    let rows: Vec<_> = types.iter().enumerate().map(row).collect();
    let read = read_page::<Named>(page_of(&rows).as_bytes()).unwrap();
    for (n, (row, read)) in rows.iter().zip(read).enumerate() {
        let names = vec!["A".to_owned(), "B".to_owned()];
        assert_eq!(
            read,
            Named(names, [format!("p{n}"), format!("r{n}"), format!("e{n}")]),
            "{row}"
        );
        assert_eq!(read_row::<Named>(0, row.as_bytes()).unwrap(), read, "{row}");
    }
    for end in [r#""Edm.Int64"#, r#""Edm.Int64"x"#, "", "tru"] {
        let row = format!(r#"{{"A":1,"A@odata.type":{end}}}"#);
        let page = page_of(&[r#"{"A":1,"A@odata.type":"Edm.Int64"}"#.to_owned(), row]);
        assert!(read_page::<Named>(page.as_bytes()).is_err(), "{page}");
    }
}

#[test]
fn reading_continues_behind_a_value_of_another_type() {
    for value in [r#""x""#, "1.5", "300", "-1", "[1,[2]]", r#"{"a":{}}"#, "true", "null"] {
        let row = format!(r#"{{"A":1,"X":{value},"B":7}}"#);
        assert_eq!(read_row::<Lenient>(0, row.as_bytes()).unwrap(), Lenient(vec![1, 7]), "{row}");
        let page = page_of(&[row.clone(), row]);
        let rows = read_page::<Lenient>(page.as_bytes()).unwrap();
        assert_eq!(rows, [Lenient(vec![1, 7]), Lenient(vec![1, 7])]);
    }
    assert!(read_row::<Lenient>(0, br#"{"A":1,"X":tru,"B":7}"#).is_err());
}

#[test]
fn rows_of_many_shapes_and_names_are_read() {
    let names = |row: usize| (row..row + 7).map(|name| format!("P{name}"));
    let rows: Vec<_> = (0..1500)
        .map(|row| {
            let members: Vec<_> = names(row).rev().map(|name| format!("{name:?}:{row}")).collect();
            format!("{{{}}}", members.join(","))
        })
        .collect();
    let read = read_page::<DynamicEntity>(page_of(&rows).as_bytes()).unwrap();
    assert_eq!(read.len(), rows.len());
    for (row, entity) in read.iter().enumerate() {
        assert_eq!(entity.properties.len(), 7);
        assert!(names(row).all(|name| entity.properties.contains_key(&name)), "row {row}");
    }
}
