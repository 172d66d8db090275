//! Rows in memory: their keys, versions and values, beside a shape that many rows share.
//!
//! Invariant: a packed row gives back the JSON object that a file stores for it, byte for byte but for the
//! escapes of its keys, which are kept only once.

use super::filter_eval::Properties;
use super::key_bytes;
use super::selected_shape::{SelectedGap, SelectedShape};
use super::shape::{Gap, Part, Shapes, SharedShape};
use super::stored::{self, TimestampText};
use super::value::StoredValue;
use crate::codec::write_string;
use crate::model::{DateTime, ETag, TIMESTAMP, TYPE_ANNOTATION};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::mem;

/// A larger buffer is not kept for the next row: each table has one.
const MOST_KEPT: usize = 64 * 1024;

/// A row. Rows are equal and in order by their keys.
#[derive(Debug)]
pub(crate) struct PackedRow {
    shape: SharedShape,
    /// The key and each value, after their lengths. The text of the Timestamp follows the key.
    bytes: Box<[u8]>,
}

impl PackedRow {
    /// Packs a row of this body, a normalised object.
    pub(crate) fn new(
        key: &[u8],
        timestamp: &TimestampText,
        body: &[u8],
        shapes: &mut Shapes,
    ) -> Self {
        let mut bytes = mem::take(&mut shapes.packed);
        bytes.clear();
        push(&mut bytes, key);
        bytes.extend_from_slice(timestamp);
        let (shape, values) = shapes.of(body);
        for (gap, value) in values {
            if *gap == Gap::Value {
                push(&mut bytes, &body[value.clone()]);
            }
        }
        let row = Self { shape, bytes: bytes.as_slice().into() };
        if bytes.capacity() <= MOST_KEPT {
            shapes.packed = bytes;
        }
        row
    }

    /// Returns the row's shape, which is to be released.
    pub(crate) fn into_shape(self) -> SharedShape {
        self.shape
    }

    /// Returns the row's key.
    pub(crate) fn key(&self) -> &[u8] {
        pop(&mut &*self.bytes)
    }

    /// Returns the row's version.
    pub(crate) fn etag(&self) -> ETag {
        ETag::from_timestamp(self.content().timestamp)
    }

    /// Appends the row's JSON object.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        let mut content = self.content();
        out.reserve(stored::BODY_START + self.shape.len() + self.bytes.len());
        stored::append_timestamp(out, content.timestamp);
        let rest = self.shape.pieces(|text, gap| {
            out.extend_from_slice(text);
            content.take(gap).append_to(out);
        });
        out.extend_from_slice(rest);
    }

    pub(crate) const fn shape(&self) -> &SharedShape {
        &self.shape
    }

    /// Appends the members that are selected of the row's shape, each behind a comma.
    pub(crate) fn append_selected(&self, selected: &SelectedShape, out: &mut Vec<u8>) {
        let mut content = self.content();
        if selected.timestamp {
            out.extend_from_slice(b",\"Timestamp\":");
            write_string(out, content.timestamp);
        }
        for SelectedGap { text, gap, is_selected } in &selected.gaps {
            if *is_selected {
                out.extend_from_slice(text);
                content.take(*gap).append_to(out);
            } else if *gap == Gap::Value {
                content.take(*gap);
            }
        }
        out.extend_from_slice(&selected.rest);
    }

    fn content(&self) -> Content<'_> {
        let mut rest = &*self.bytes;
        let key = pop(&mut rest);
        let (timestamp, values) = rest.split_at(DateTime::TEXT_LEN.min(rest.len()));
        Content { key, timestamp: str::from_utf8(timestamp).unwrap_or_default(), values }
    }
}

impl Properties for PackedRow {
    fn property(&self, name: &str) -> Option<StoredValue<'_>> {
        let mut content = self.content();
        if name == TIMESTAMP {
            return content.timestamp.parse().ok().map(StoredValue::DateTime);
        }
        let (mut found, mut annotation) = (None, None);
        for (member, part) in self.shape.members() {
            let value = content.value(part);
            match (member.strip_prefix(name.as_bytes()), part) {
                (Some(b""), _) => found = Some(value),
                (Some(suffix), Part::Text(text)) if suffix == TYPE_ANNOTATION.as_bytes() => {
                    annotation = str::from_utf8(text).ok();
                }
                _ => {}
            }
        }
        match found? {
            Value::Key(key) => Some(StoredValue::String(key_bytes::decode(key)?)),
            Value::Json(json) => StoredValue::read(str::from_utf8(json).ok()?, annotation).ok(),
        }
    }
}

impl Borrow<[u8]> for PackedRow {
    fn borrow(&self) -> &[u8] {
        self.key()
    }
}

impl Ord for PackedRow {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

impl PartialOrd for PackedRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PackedRow {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for PackedRow {}

/// What a row keeps for itself.
struct Content<'r> {
    key: &'r [u8],
    timestamp: &'r str,
    /// The values that are not taken yet.
    values: &'r [u8],
}

impl<'r> Content<'r> {
    /// Returns the value of the next member of the row's shape.
    fn value(&mut self, part: Part<'r>) -> Value<'r> {
        match part {
            Part::Text(text) => Value::Json(text),
            Part::Gap(gap) => self.take(gap),
        }
    }

    /// Returns what belongs into the next gap of the row's shape.
    fn take(&mut self, gap: Gap) -> Value<'r> {
        let keys = || key_bytes::split(self.key).unwrap_or_default();
        match gap {
            Gap::PartitionKey => Value::Key(keys().0),
            Gap::RowKey => Value::Key(keys().1),
            Gap::Value => Value::Json(pop(&mut self.values)),
        }
    }
}

/// A value of a row: its JSON text, or the bytes of a PartitionKey or RowKey.
enum Value<'r> {
    Json(&'r [u8]),
    Key(&'r [u8]),
}

impl Value<'_> {
    #[inline(always)]
    fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Json(json) => out.extend_from_slice(json),
            Self::Key(key) if key_bytes::is_json(key) => {
                out.push(b'"');
                out.extend_from_slice(key);
                out.push(b'"');
            }
            Self::Key(key) => write_string(out, &key_bytes::decode(key).unwrap_or_default()),
        }
    }
}

/// Appends bytes after their length, which takes seven bits of each byte.
fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    let mut length = part.len();
    while length > 0x7F {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(part);
}

/// Splits off what [`push`] appended first.
#[inline]
fn pop<'b>(bytes: &mut &'b [u8]) -> &'b [u8] {
    let (mut length, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        length |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte <= 0x7F {
            break;
        }
    }
    let (part, rest) = bytes.split_at(length.min(bytes.len()));
    *bytes = rest;
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::members::RowMembers;
    use crate::embedded::selection::Selection;
    use proptest::prelude::*;

    const STAMP: &TimestampText = b"2011-11-06T09:10:00.0000000Z";

    fn packed(partition_key: &str, row_key: &str, body: &str) -> PackedRow {
        let key = key_bytes::row(partition_key, row_key);
        PackedRow::new(&key, STAMP, body.as_bytes(), &mut Shapes::default())
    }

    /// Returns what a file stores for the row.
    fn stored(body: &str) -> String {
        let mut row = Vec::new();
        stored::compose(&mut row, STAMP, body.as_bytes());
        String::from_utf8(row).unwrap()
    }

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        write(&mut out);
        String::from_utf8(out.split_off(6)).unwrap()
    }

    const BODY: &str = r#"{"A":1,"PartitionKey":"p\"é\\","B@odata.type":"Edm.Int64","B":"2","RowKey":"","É":"\ud83c\udfc3","D":5,"D@odata.type":"Edm.Double"}"#;

    #[test]
    fn a_row_reads_as_one_of_a_file() {
        let row = packed("p\"é\\", "", BODY);
        let stored = stored(BODY);
        assert_eq!(text(|out| row.append_to(out)), stored);
        assert_eq!(row.etag(), stored::etag(stored.as_bytes()).unwrap());
        assert_eq!(row.key(), key_bytes::row("p\"é\\", ""));
        for names in [
            &["B", "Timestamp"][..],
            &["RowKey", "É"],
            &["PartitionKey"],
            &["Timestamp"],
            &["D", "A", "Absent"],
            &["odata.type", "B@odata.type"],
            &[],
        ] {
            let mut selection = Selection::new(names);
            let expected = text(|out| selection.append_text(stored.as_bytes(), out).unwrap());
            for _ in 0..2 {
                assert_eq!(text(|out| selection.append_packed(&row, out)), expected, "{names:?}");
            }
        }
        let members = RowMembers::read(&stored).unwrap();
        for name in ["A", "B", "D", "É", "PartitionKey", "RowKey", "Timestamp", "Absent", "", "B@"]
        {
            let (packed, stored) = (row.property(name), members.property(name));
            assert_eq!(format!("{packed:?}"), format!("{stored:?}"), "{name}");
        }
    }

    proptest! {
        #[test]
        fn values_of_every_length_are_given_back(lengths in prop::collection::vec(0..40_000_usize, 0..4)) {
            let mut body = r#"{"PartitionKey":"p","RowKey":"r""#.to_owned();
            for (index, length) in lengths.iter().enumerate() {
                body.push_str(&format!(",\"P{index}\":\"{}\"", "x".repeat(*length)));
            }
            body.push('}');
            prop_assert_eq!(text(|out| packed("p", "r", &body).append_to(out)), stored(&body));
        }

        #[test]
        fn keys_of_every_length_are_in_order(left in "[a-c\u{E000}]{0,300}", right in "[a-c\u{E000}]{0,300}") {
            let row = |key: &str| packed("p", key, r#"{"PartitionKey":"p","RowKey":""}"#);
            let expected = key_bytes::row("p", &left).cmp(&key_bytes::row("p", &right));
            prop_assert_eq!(row(&left).cmp(&row(&right)), expected);
        }
    }
}
