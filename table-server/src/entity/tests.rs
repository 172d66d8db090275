use super::*;
use crate::media::MetadataLevel;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::value::RawValue;

fn row(body: &str) -> Result<String, crate::ServiceError> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let row = EntityBody::read(&body)?.row("p", "r")?;
    Ok(String::from_utf8(row.to_vec()).unwrap())
}

const KEYS: &str = r#"{"PartitionKey":"p","RowKey":"r""#;

#[test]
fn values_of_a_declared_type_may_be_strings() {
    for (sent, stored) in [
        (r#""A":"false","A@odata.type":"Edm.Boolean""#, r#""A":false"#),
        (r#""A":"23","A@odata.type":"Edm.Int32""#, r#""A":23"#),
        (r#""A":"0","A@odata.type":"Edm.Double""#, r#""A":0.0,"A@odata.type":"Edm.Double""#),
        (r#""A":"NaN","A@odata.type":"Edm.Double""#, r#""A":"NaN","A@odata.type":"Edm.Double""#),
        (
            r#""A@odata.type":"Edm.DateTime","A":"2008-07-10T00:00:00""#,
            r#""A":"2008-07-10T00:00:00.0000000Z","A@odata.type":"Edm.DateTime""#,
        ),
        (r#""A":"x","A@odata.type":"Edm.String""#, r#""A":"x""#),
        (r#""A":null,"A@odata.type":"Edm.Int64","B":1.0"#, r#""B":1.0"#),
        (r#""odata.etag":"x","Timestamp":"x","PartitionKey":"other","B":true"#, r#""B":true"#),
    ] {
        assert_eq!(row(&format!("{{{sent}}}")).unwrap(), format!("{KEYS},{stored}}}"), "{sent}");
    }
}

#[test]
fn an_entity_has_each_key_once() {
    let key = |members: &str| {
        let body = Bytes::from(format!("{{{members}}}"));
        EntityBody::read(&body)?.key("RowKey")
    };
    assert_eq!(key(r#""A":1,"RowKey":"r""#), Ok("r".to_owned()));
    let twice = crate::ServiceError::DUPLICATE_PROPERTIES;
    assert_eq!(key(r#""RowKey":"r","A":1,"RowKey":"s""#), Err(twice.clone()));
    assert_eq!(key(r#""RowKey":"r","RowKey":"r""#), Err(twice));
}

#[test]
fn numbers_of_many_digits_are_stored_in_few() {
    let zeros = "0".repeat(1000);
    for (sent, stored) in [
        (format!(r#""A":1.5{zeros}"#), r#""A":1.5"#),
        (format!(r#""A":-1{zeros}e-1000"#), r#""A":-1.0"#),
        (
            format!(r#""A":0.{zeros}1,"A@odata.type":"Edm.Double""#),
            r#""A":0.0,"A@odata.type":"Edm.Double""#,
        ),
        (
            format!(r#""A":"{zeros}5","A@odata.type":"Edm.Int64""#),
            r#""A":"5","A@odata.type":"Edm.Int64""#,
        ),
        (
            r#""A":"-9223372036854775808","A@odata.type":"Edm.Int64""#.to_owned(),
            r#""A":"-9223372036854775808","A@odata.type":"Edm.Int64""#,
        ),
        (
            r#""A":" +7","A@odata.type":"Edm.Int64","B":"-0","B@odata.type":"Edm.Int64""#
                .to_owned(),
            r#""A":"7","A@odata.type":"Edm.Int64","B":"0","B@odata.type":"Edm.Int64""#,
        ),
        (
            r#""A":"\u0037","A@odata.type":"Edm.Int64","B":"-07","B@odata.type":"Edm.Int64""#
                .to_owned(),
            r#""A":"7","A@odata.type":"Edm.Int64","B":"-7","B@odata.type":"Edm.Int64""#,
        ),
        (format!(r#""A":1.{zeros},"A@odata.type":"Edm.Int32""#), r#""A":1.0"#),
        // No double: the store refuses it.
        (
            r#""A":111111111111111111111111111111111"#.to_owned(),
            r#""A":111111111111111111111111111111111"#,
        ),
        (r#""A":-2.2250738585072014e-308"#.to_owned(), r#""A":-2.2250738585072014e-308"#),
    ] {
        assert_eq!(row(&format!("{{{sent}}}")).unwrap(), format!("{KEYS},{stored}}}"), "{sent}");
    }
    let beyond = format!(r#"{{"A":"9{zeros}","A@odata.type":"Edm.Int64"}}"#);
    assert_eq!(row(&beyond).unwrap_err().code, "InvalidInput");
}

#[test]
fn values_of_another_type_are_refused() {
    for sent in [
        r#"{"A":"not a bool","A@odata.type":"Edm.Boolean"}"#,
        r#"{"A":"x","A@odata.type":"Edm.Int32"}"#,
        r#"{"A":"now","A@odata.type":"Edm.DateTime"}"#,
        r#"{"A":"x","A@odata.type":"Edm.Guid"}"#,
        r#"{"A":1,"A@odata.type":"Edm.String"}"#,
        r#"{"A":1,"A@odata.type":"Edm.Byte"}"#,
        r#"{"A":[1]}"#,
        "[]",
        "",
    ] {
        assert_eq!(row(sent).unwrap_err().code, "InvalidInput", "{sent}");
    }
}

#[test]
fn a_body_that_is_the_row_is_not_copied() {
    let is_kept = |members: &str| {
        let body = Bytes::from(format!("{{{members}}}"));
        let row = EntityBody::read(&body).unwrap().row("p", "r").unwrap();
        row.as_ptr() == body.as_ptr() && row == body
    };
    let keys = &KEYS[1..];
    for members in [
        "",
        r#","A":"x","B":1,"C":1.5,"D":true,"É":"\"é\n""#,
        r#","A":"5","A@odata.type":"Edm.Int64","B":5,"B@odata.type":"Edm.Double""#,
        r#","A":"2011-11-06T09:10:00Z","A@odata.type":"Edm.DateTime""#,
        r#","A":"c9da6455-213d-42c9-9a79-3e9149a57833","A@odata.type":"Edm.Guid""#,
        r#","A":"AA==","A@odata.type":"Edm.Binary""#,
    ] {
        assert!(is_kept(&format!("{keys}{members}")), "{members}");
    }
    for members in [
        r#", "A":1"#,
        r#","A":null"#,
        r#","\u0041":1"#,
        r#","Timestamp":"x""#,
        r#","odata.etag":"x""#,
        r#","A":"x","A@odata.type":"Edm.String""#,
        r#","A":1,"A@odata.type":"Edm.Int32""#,
        r#","A":"07","A@odata.type":"Edm.Int64""#,
        r#","A@odata.type":"Edm.Int64","A":"7""#,
        r#","A":"2011-11-06T09:10:00+01:00","A@odata.type":"Edm.DateTime""#,
        r#","A":"C9DA6455-213D-42C9-9A79-3E9149A57833","A@odata.type":"Edm.Guid""#,
        r#","PartitionKey":"p""#,
    ] {
        assert!(!is_kept(&format!("{keys}{members}")), "{members}");
    }
    for keys in [
        r#""RowKey":"r","PartitionKey":"p""#,
        r#""PartitionKey":"other","RowKey":"r""#,
        r#""PartitionKey":"\u0070","RowKey":"r""#,
        r#""RowKey":"r","A":1"#,
    ] {
        assert!(!is_kept(keys), "{keys}");
    }
}

proptest! {
    #[test]
    fn a_body_is_the_row_that_is_written_from_its_members(
        // Each once: a name that comes twice is refused by the store.
        members in prop::sample::subsequence(
            vec![
                r#""A":1"#, r#""A@odata.type":"Edm.Double""#, r#""B":"7""#, r#""B@odata.type":"Edm.Int64""#,
                r#""C":"7""#, r#""C@odata.type":"Edm.String""#, r#""D":null"#, r#""E":0.50"#, r#" "F":true"#,
                r#""odata.etag":"x""#,
            ],
            0..6,
        )
        .prop_shuffle(),
    ) {
        let body = Bytes::from(format!("{KEYS}{}{}}}", if members.is_empty() { "" } else { "," }, members.join(",")));
        let entity = EntityBody::read(&body).unwrap();
        match (entity.row("p", "r"), entity.rewritten("p", "r")) {
            (Ok(row), Ok(rewritten)) => prop_assert_eq!(row, rewritten),
            (row, rewritten) => prop_assert_eq!(row.is_err(), rewritten.is_err()),
        }
    }
}

#[test]
fn keys_of_an_insert_are_strings() {
    let key = |body: &str| {
        let body = Bytes::copy_from_slice(body.as_bytes());
        EntityBody::read(&body).unwrap().key("RowKey").map_err(|error| error.code)
    };
    assert_eq!(key(r#"{"RowKey":"a\u0062"}"#), Ok("ab".to_owned()));
    assert_eq!(key("{}"), Err("PropertiesNeedValue".into()));
    assert_eq!(key(r#"{"RowKey":1}"#), Err("InvalidInput".into()));
    assert_eq!(key(r#"{"RowKey":"1","RowKey@odata.type":"Edm.Guid"}"#), Err("InvalidInput".into()));
}

const STORED: &str = r#"{"Timestamp":"2020-01-02T03:04:05.0000000Z","PartitionKey":"it's","RowKey":"r","A":"5","A@odata.type":"Edm.Int64","B":1}"#;

fn written(level: MetadataLevel, select: Option<&[String]>) -> String {
    written_row(STORED, level, select)
}

fn written_row(row: &str, level: MetadataLevel, select: Option<&[String]>) -> String {
    let address = EntityAddress { endpoint: "http://h/acc", account: "acc", table: "People" };
    let writer = EntityWriter { address, level, select };
    String::from_utf8(writer.single(row, None).unwrap()).unwrap()
}

#[test]
fn each_level_of_metadata_says_more() {
    assert_eq!(
        written(MetadataLevel::None, None),
        r#"{"Timestamp":"2020-01-02T03:04:05.0000000Z","PartitionKey":"it's","RowKey":"r","A":"5","B":1}"#
    );
    assert_eq!(
        written(MetadataLevel::Minimal, None),
        r#"{"odata.metadata":"http://h/acc/$metadata#People/@Element","odata.etag":"W/\"datetime'2020-01-02T03%3A04%3A05.0000000Z'\"","Timestamp":"2020-01-02T03:04:05.0000000Z","PartitionKey":"it's","RowKey":"r","A@odata.type":"Edm.Int64","A":"5","B":1}"#
    );
    let full = written(MetadataLevel::Full, None);
    for part in [
        r#""odata.type":"acc.People""#,
        r#""odata.id":"http://h/acc/People(PartitionKey='it%27%27s',RowKey='r')""#,
        r#""odata.editLink":"People(PartitionKey='it%27%27s',RowKey='r')""#,
        r#""Timestamp@odata.type":"Edm.DateTime","Timestamp""#,
    ] {
        assert!(full.contains(part), "{full}");
    }
}

/// As the service writes them: its first Go client refuses other types.
#[test]
fn a_type_is_written_only_where_json_does_not_show_it() {
    for (stored, minimal, none) in [
        (r#""A":5,"A@odata.type":"Edm.Double""#, r#""A":5.0"#, r#""A":5.0"#),
        (r#""A@odata.type":"Edm.Double","A":-0"#, r#""A":-0.0"#, r#""A":-0.0"#),
        (r#""A":1e300,"A@odata.type":"Edm.Double""#, r#""A":1e300"#, r#""A":1e300"#),
        (
            r#""A":"NaN","A@odata.type":"Edm.Double""#,
            r#""A@odata.type":"Edm.Double","A":"NaN""#,
            r#""A":"NaN""#,
        ),
        (r#""A":5,"A@odata.type":"Edm.Int32""#, r#""A":5"#, r#""A":5"#),
        (r#""A":true,"A@odata.type":"Edm.Boolean""#, r#""A":true"#, r#""A":true"#),
        (r#""A":"x","A@odata.type":"Edm.String""#, r#""A":"x""#, r#""A":"x""#),
        (
            r#""A":"AA==","B":1,"A@odata.type":"Edm.Binary""#,
            r#""A@odata.type":"Edm.Binary","A":"AA==","B":1"#,
            r#""A":"AA==","B":1"#,
        ),
    ] {
        let row = format!("{{{stored}}}");
        let written = written_row(&row, MetadataLevel::Minimal, None);
        assert!(written.ends_with(&format!("People/@Element\",{minimal}}}")), "{written}");
        assert_eq!(written_row(&row, MetadataLevel::None, None), format!("{{{none}}}"));
    }
}

#[test]
fn a_selected_property_that_is_absent_is_null() {
    let select = ["B".to_owned(), "C".to_owned()];
    assert_eq!(written(MetadataLevel::None, Some(&select)), r#"{"B":1,"C":null}"#);
}

#[test]
fn a_page_leaves_out_rows_that_are_not_admitted() {
    let row = |key: &str| {
        RawValue::from_string(format!(r#"{{"PartitionKey":"p","RowKey":"{key}"}}"#)).unwrap()
    };
    let rows = ["a", "b", "c"].map(row);
    let rows: Vec<&RawValue> = rows.iter().map(|row| &**row).collect();
    let address = EntityAddress { endpoint: "", account: "", table: "" };
    let writer = EntityWriter { address, level: MetadataLevel::None, select: None };
    let page = |admits: fn(&str, &str) -> bool| {
        String::from_utf8(writer.page(&rows, admits).unwrap()).unwrap()
    };
    assert_eq!(page(|_, row| row != "a").matches("RowKey").count(), 2);
    assert!(page(|_, row| row != "a").starts_with(r#"{"value":[{"P"#));
    assert_eq!(page(|_, _| false), r#"{"value":[]}"#);
}
