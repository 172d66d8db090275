//! A row as the text that a store returned.

use crate::codec::{Members, write_string};
use crate::entity::ReadRow;
use crate::model::{METADATA_PREFIX, Metadata, TIMESTAMP, TYPE_ANNOTATION};
use crate::property::RowFault;
use bytes::Bytes;
use std::borrow::Cow;

/// A row of any shape, for tools that only pass rows on. Its values are not read, so they keep their exact
/// text. If only its text shows that a value is a double, as in `5.0`, the row also states the type.
///
/// [`Scan::raw`](crate::scan::Scan::raw) reads such rows, and
/// [`Table::insert_or_replace_raw`](crate::repo::Table::insert_or_replace_raw) writes them. To look at a value,
/// read a [`DynamicEntity`](super::DynamicEntity) instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRow {
    /// The row's PartitionKey.
    pub partition_key: String,
    /// The row's RowKey.
    pub row_key: String,
    /// Its JSON object: the keys and properties, without what the store sets.
    body: Bytes,
}

impl RawRow {
    /// The row's JSON object.
    pub(crate) const fn body(&self) -> &Bytes {
        &self.body
    }
}

impl ReadRow for RawRow {
    const NAME: &'static str = "RawRow";
    const METADATA: Metadata = Metadata::Minimal;

    fn read_row(_row: usize, mut members: Members<'_, '_>) -> Result<Self, RowFault> {
        let mut body = Vec::new();
        let mut doubles = UntypedDoubles::default();
        // The text from the first member that follows the last one that was left out.
        let mut kept = members.unread();
        loop {
            let start = members.unread();
            let member = members.next_member()?;
            let is_end = member.is_none();
            if let Some((name, role)) = member {
                let value = members.unread();
                members.keep(role)?;
                if !is_set_by_store(&name) {
                    doubles.note(name, &value[..value.len() - members.unread().len()]);
                    continue;
                }
            }
            append(&mut body, &kept[..kept.len() - start.len()]);
            kept = members.unread();
            if is_end {
                break;
            }
        }
        if body.is_empty() {
            body.push(b'{');
        }
        for name in doubles.names() {
            body.push(b',');
            write_string(&mut body, &format!("{name}{TYPE_ANNOTATION}"));
            body.extend_from_slice(br#":"Edm.Double""#);
        }
        body.push(b'}');
        Ok(Self {
            partition_key: members.partition_key().into_owned(),
            row_key: members.row_key().into_owned(),
            body: body.into(),
        })
    }
}

/// Doubles whose type only their text shows, as in `5.0`: the service returns them so, and Azurite would store an
/// `Edm.Int32`.
#[derive(Default)]
struct UntypedDoubles<'de> {
    doubles: Vec<Cow<'de, str>>,
    /// The properties with a type.
    typed: Vec<Cow<'de, str>>,
}

impl<'de> UntypedDoubles<'de> {
    /// Takes a member into account. A type mostly stands beside its value.
    fn note(&mut self, name: Cow<'de, str>, value: &str) {
        if let Some(property) = name.strip_suffix(TYPE_ANNOTATION) {
            if self.doubles.last().is_some_and(|last| last == property) {
                self.doubles.pop();
            } else {
                self.typed.push(property.to_owned().into());
            }
        } else if is_double(value) && self.typed.last() != Some(&name) {
            self.doubles.push(name);
        }
    }

    fn names(self) -> impl Iterator<Item = Cow<'de, str>> {
        let Self { doubles, typed } = self;
        doubles.into_iter().filter(move |name| !typed.contains(name))
    }
}

/// Whether a value is a number with a fraction or an exponent.
fn is_double(value: &str) -> bool {
    let value = value.trim_ascii_start().as_bytes();
    matches!(value.first(), Some(b'-' | b'0'..=b'9'))
        && value.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

/// Whether a member is no part of what an app stores.
fn is_set_by_store(name: &str) -> bool {
    let property = name.strip_suffix(TYPE_ANNOTATION).unwrap_or(name);
    property == TIMESTAMP || name.starts_with(METADATA_PREFIX)
}

/// Appends members to an object. Their text begins with the brace or the comma before the first.
fn append(object: &mut Vec<u8>, members: &str) {
    let Some(members) = members.trim_ascii_start().get(1..) else { return };
    // Exact for a row whose members follow each other: `Bytes` takes over a full `Vec` without a copy.
    object.reserve_exact(members.len() + 2);
    object.push(if object.is_empty() { b'{' } else { b',' });
    object.extend_from_slice(members.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::{DynamicEntity, read_row};

    #[test]
    fn what_an_app_stores_keeps_its_text() {
        let keys = r#""PartitionKey":"p","RowKey":"r\u00e9""#;
        for (row, expected) in [
            (format!("{{{keys}}}"), format!("{{{keys}}}")),
            (format!(r#"{{"Timestamp":"t",{keys},"A":15}}"#), format!(r#"{{{keys},"A":15}}"#)),
            (
                format!(
                    r#" {{ "odata.etag" : "W/\"x\"" , {keys} , "A" : [ ] , "Timestamp":"t" , "L":"5","L@odata.type":"Edm.Int64" }} "#
                ),
                format!(r#"{{ {keys} , "A" : [ ] , "L":"5","L@odata.type":"Edm.Int64"}}"#),
            ),
            (
                format!(r#"{{{keys},"Timestamp":"t","odata.etag":"x","A":null}}"#),
                format!(r#"{{{keys},"A":null}}"#),
            ),
        ] {
            let read: RawRow = read_row(0, row.as_bytes()).unwrap();
            assert_eq!((&*read.partition_key, &*read.row_key), ("p", "r\u{e9}"));
            let text = std::str::from_utf8(read.body()).unwrap();
            let spaces = |text: &str| text.replace(' ', "");
            assert_eq!(spaces(text), spaces(&expected), "{row}");
        }
    }

    #[test]
    fn a_double_that_only_its_text_shows_gets_its_type() {
        for (row, expected) in [
            (r#"{"A":5.0}"#, r#"{"A":5.0,"A@odata.type":"Edm.Double"}"#),
            (
                r#"{"A":-1e5 ,"B":7,"C\n":0.5}"#,
                r#"{"A":-1e5 ,"B":7,"C\n":0.5,"A@odata.type":"Edm.Double","C\n@odata.type":"Edm.Double"}"#,
            ),
            (
                r#"{"A":5.0,"A@odata.type":"Edm.Double"}"#,
                r#"{"A":5.0,"A@odata.type":"Edm.Double"}"#,
            ),
            (
                r#"{"A@odata.type":"Edm.Double","A":5.0}"#,
                r#"{"A@odata.type":"Edm.Double","A":5.0}"#,
            ),
            (
                r#"{"A@odata.type":"Edm.Double","B":1,"A":5.0}"#,
                r#"{"A@odata.type":"Edm.Double","B":1,"A":5.0}"#,
            ),
            (
                r#"{"A":"5.0","B":true,"C":"1.5","C@odata.type":"Edm.Int64"}"#,
                r#"{"A":"5.0","B":true,"C":"1.5","C@odata.type":"Edm.Int64"}"#,
            ),
        ] {
            let read: RawRow = read_row(0, row.as_bytes()).unwrap();
            assert_eq!(std::str::from_utf8(read.body()).unwrap(), expected);
        }
    }

    #[test]
    fn a_row_without_properties_of_an_app_is_an_object_too() {
        let read: RawRow = read_row(0, br#"{"Timestamp":"t"}"#).unwrap();
        assert_eq!(&**read.body(), b"{}");
        assert!(read_row::<RawRow>(0, b"{\"A\":1,}").is_err());
    }

    #[test]
    fn a_raw_row_is_the_row_that_was_written() {
        let row = DynamicEntity::new("p\"\\", "é").with("L", 5_i64).with("D", 0.1).with("S", "\n");
        let json = row.to_json().unwrap();
        let read: RawRow = read_row(0, json.as_bytes()).unwrap();
        assert_eq!((&read.partition_key, &read.row_key), (&row.partition_key, &row.row_key));
        assert_eq!(&**read.body(), json.as_bytes());
    }
}
