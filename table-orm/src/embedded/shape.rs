//! The text of a row's JSON object between its values: the names and types of its properties, which most rows of
//! a table have in common.
//!
//! Invariants: a shape and the values of a row make up its object, byte for byte. A shape is kept for as
//! long as a row has it.

use crate::codec::plain_len;
use crate::model::{PARTITION_KEY, ROW_KEY, TYPE_ANNOTATION};
use memchr::memchr2;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::{iter, mem};

/// What a shape leaves out. A byte that JSON text cannot have marks its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Gap {
    PartitionKey,
    RowKey,
    Value,
}

impl Gap {
    const ALL: [Self; 3] = [Self::PartitionKey, Self::RowKey, Self::Value];

    fn marked_by(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// The value of a member in a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'s> {
    Text(&'s [u8]),
    Gap(Gap),
}

/// The text of an object after its brace, without the values.
#[derive(Debug)]
struct Shape {
    text: Box<[u8]>,
    /// Where the gaps are in the text.
    gaps: Box<[u32]>,
}

/// A shape, found by its text. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct SharedShape(Arc<Shape>);

impl SharedShape {
    fn new(text: &[u8]) -> Self {
        let gap =
            |(at, byte): (usize, &u8)| Gap::marked_by(*byte).and_then(|_| u32::try_from(at).ok());
        let gaps = text.iter().enumerate().filter_map(gap).collect();
        Self(Arc::new(Shape { text: text.into(), gaps }))
    }

    /// Whether its rows end behind the last member, as objects do.
    pub(crate) fn is_whole(&self) -> bool {
        let text = &*self.0.text;
        let end = members(text).last().map_or(0, |(_, value)| value.end);
        text[end..].trim_ascii() == b"}"
    }

    /// Returns the length of the text.
    pub(crate) fn len(&self) -> usize {
        self.0.text.len()
    }

    /// Calls `on_gap` with the text before each gap, and returns the text after the last.
    #[inline(always)]
    pub(crate) fn pieces(&self, mut on_gap: impl FnMut(&[u8], Gap)) -> &[u8] {
        let Shape { text, gaps } = &*self.0;
        let mut from = 0;
        for &at in gaps {
            let at = at as usize;
            on_gap(&text[from..at], Gap::marked_by(text[at]).unwrap_or(Gap::Value));
            from = at + 1;
        }
        &text[from..]
    }

    /// Whether a normalised object has this shape. Keeps where the values are that belong into its gaps.
    fn is_of(&self, object: &[u8], values: &mut Vec<(Gap, Range<usize>)>) -> bool {
        let Shape { text, gaps } = &*self.0;
        let (mut from, mut at) = (0, 1);
        values.clear();
        for &gap in gaps {
            let piece = &text[from..gap as usize];
            let start = at + piece.len();
            if object.get(at..start) != Some(piece) {
                return false;
            }
            let Some(end) = value_end(object, start) else { return false };
            values.push((Gap::marked_by(text[gap as usize]).unwrap_or(Gap::Value), start..end));
            (from, at) = (gap as usize + 1, end);
        }
        object.get(at..) == Some(&text[from..])
    }

    /// Whether it is the same, not one of the same text.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the names of the members, and their values, in order.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&[u8], Part<'_>)> {
        let text = &*self.0.text;
        members(text).map(|(name, value)| match Gap::marked_by(text[value.start]) {
            Some(gap) => (name, Part::Gap(gap)),
            None => (name, Part::Text(&text[value])),
        })
    }
}

impl Borrow<[u8]> for SharedShape {
    fn borrow(&self) -> &[u8] {
        &self.0.text
    }
}

impl Ord for SharedShape {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.text.cmp(&other.0.text)
    }
}

impl PartialOrd for SharedShape {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SharedShape {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for SharedShape {}

/// The shapes of a table's rows: mostly few, so they are found sooner in order than by a hash.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    all: BTreeSet<SharedShape>,
    /// That of the last row: mostly the next row has it, too.
    last: Option<SharedShape>,
    /// Where the values of a row are.
    values: Vec<(Gap, Range<usize>)>,
    /// Where the text of a row's shape is written to.
    text: Vec<u8>,
    /// Where a row is packed, before its length is known.
    pub(crate) packed: Vec<u8>,
}

impl Shapes {
    /// Returns the shape of a normalised object, and where the values are that it leaves out.
    pub(crate) fn of(&mut self, object: &[u8]) -> (SharedShape, &[(Gap, Range<usize>)]) {
        let Self { last, values, .. } = self;
        if let Some(shape) = last.as_ref().filter(|last| last.is_of(object, values)) {
            return (shape.clone(), &self.values);
        }
        let shape = self.found(object);
        self.last = Some(shape.clone());
        (shape, &self.values)
    }

    fn found(&mut self, object: &[u8]) -> SharedShape {
        self.values.clear();
        let mut text = mem::take(&mut self.text);
        text.clear();
        let mut from = 1;
        for (name, value) in members(object) {
            let gap = if name == PARTITION_KEY.as_bytes() {
                Gap::PartitionKey
            } else if name == ROW_KEY.as_bytes() {
                Gap::RowKey
            } else if name.ends_with(TYPE_ANNOTATION.as_bytes()) {
                continue;
            } else {
                Gap::Value
            };
            self.values.push((gap, value.clone()));
            text.extend_from_slice(&object[from..value.start]);
            text.push(gap as u8);
            from = value.end;
        }
        text.extend_from_slice(&object[from..]);
        let shape = self.shared(&text);
        self.text = text;
        shape
    }

    fn shared(&mut self, text: &[u8]) -> SharedShape {
        if let Some(shape) = self.all.get(text) {
            return shape.clone();
        }
        let shape = SharedShape::new(text);
        self.all.insert(shape.clone());
        shape
    }

    /// Gives a row's shape back, which is dropped if no other row has it.
    pub(crate) fn release(&mut self, shape: SharedShape) {
        let is_last = self.last.as_ref().is_some_and(|last| last.is(&shape));
        let of_row_and_here = 2 + usize::from(is_last);
        if Arc::strong_count(&shape.0) == of_row_and_here {
            self.all.remove(&shape);
            self.last.take_if(|_| is_last);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

/// Returns the members of a normalised object: the name of each, and where its value is.
fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    let mut at = 0;
    iter::from_fn(move || {
        let name = find(object, at, |byte| byte == b'"')? + 1;
        let name = name..string_end(object, name)?;
        let start = find(object, name.end + 1, |byte| byte != b':' && !is_space(byte))?;
        at = value_end(object, start)?;
        Some((&object[name], start..at))
    })
}

/// Returns where the value at `start` ends.
fn value_end(object: &[u8], start: usize) -> Option<usize> {
    match object.get(start)? {
        b'"' => Some(string_end(object, start + 1)? + 1),
        _ => find(object, start, |byte| matches!(byte, b',' | b'}') || is_space(byte)),
    }
}

fn find(text: &[u8], from: usize, is_found: impl Fn(u8) -> bool) -> Option<usize> {
    Some(from + text.get(from..)?.iter().position(|byte| is_found(*byte))?)
}

/// Returns where the quote is that ends a string.
#[inline]
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let end = from + plain_len(text.get(from..)?)?;
    if text[end] == b'"' { Some(end) } else { escaped_string_end(text, end) }
}

fn escaped_string_end(text: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let at = from + memchr2(b'"', b'\\', text.get(from..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the object of a shape with these values, which lie in a text.
    fn filled(shape: &SharedShape, text: &str, values: &[(Gap, Range<usize>)]) -> String {
        let mut object = b"{".to_vec();
        let mut values = values.iter();
        let rest = shape.pieces(|piece, gap| {
            object.extend_from_slice(piece);
            let (of, value) = values.next().unwrap();
            assert_eq!(*of, gap);
            object.extend_from_slice(&text.as_bytes()[value.clone()]);
        });
        object.extend_from_slice(rest);
        assert!(values.next().is_none());
        String::from_utf8(object).unwrap()
    }

    #[test]
    fn a_shape_and_its_values_are_the_object() {
        let mut shapes = Shapes::default();
        for object in [
            r#"{"PartitionKey":"p","RowKey":"r"}"#,
            r#"{"RowKey":"r","S":"a\"b\\","PartitionKey":"p","T":""}"#,
            r#"{ "PartitionKey" : "p" , "RowKey":"r", "L@odata.type" : "Edm.Int64" ,"L":"5" , "D" : 1e3 }"#,
            r#"{"PartitionKey":"p","RowKey":"r","B":true,"É":"{,}:","W":"x","W@odata.type":"Edm.Binary"}"#,
        ] {
            let (shape, values) = shapes.of(object.as_bytes());
            assert_eq!(filled(&shape, object, values), object);
            assert_eq!(shape.len(), shape.0.text.len());
        }
    }

    #[test]
    fn a_row_after_another_has_its_own_shape() {
        let objects = [
            r#"{"PartitionKey":"p","RowKey":"r"}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":1}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":"1,\"B\":2"}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":1,"B":2}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":"1","A@odata.type":"Edm.Int64"}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":"1","A@odata.type":"Edm.Guid"}"#,
            r#"{"RowKey":"p","PartitionKey":"r","A":1}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A" :1}"#,
            r#"{"PartitionKey":"p","RowKey":"r","A":1 }"#,
        ];
        for first in objects {
            for second in objects {
                let mut shapes = Shapes::default();
                for object in [first, second] {
                    let (shape, values) = shapes.of(object.as_bytes());
                    let alone = Shapes::default().found(object.as_bytes());
                    assert_eq!(shape, alone, "{object} after {first}");
                    assert_eq!(filled(&shape, object, values), object);
                }
            }
        }
    }

    #[test]
    fn only_types_are_left_in_a_shape() {
        let object = br#"{"PartitionKey":"p","RowKey":"r","L":"5","L@odata.type":"Edm.Int64"}"#;
        let mut shapes = Shapes::default();
        let (shape, values) = shapes.of(object);
        let values: Vec<_> = values.iter().map(|(_, value)| &object[value.clone()]).collect();
        assert_eq!(values, [&b"\"p\""[..], b"\"r\"", b"\"5\""]);
        let members: Vec<_> = shape.members().collect();
        let expected: [(&[u8], Part<'_>); 4] = [
            (b"PartitionKey", Part::Gap(Gap::PartitionKey)),
            (b"RowKey", Part::Gap(Gap::RowKey)),
            (b"L", Part::Gap(Gap::Value)),
            (b"L@odata.type", Part::Text(b"\"Edm.Int64\"")),
        ];
        assert_eq!(members, expected);
    }

    #[test]
    fn a_shape_is_shared_and_lasts_as_long_as_a_row_has_it() {
        let mut shapes = Shapes::default();
        let mut of = |object: &str| shapes.of(object.as_bytes()).0;
        let (one, same) = (of(r#"{"A":1,"B":"x"}"#), of(r#"{"A":22,"B":"yy"}"#));
        let other = of(r#"{"A":1,"C":"x"}"#);
        assert!(Arc::ptr_eq(&one.0, &same.0));
        assert_eq!(shapes.len(), 2);
        shapes.release(one);
        assert_eq!(shapes.len(), 2);
        shapes.release(same);
        assert_eq!(shapes.len(), 1);
        shapes.release(other);
        assert_eq!(shapes.len(), 0);
    }
}
