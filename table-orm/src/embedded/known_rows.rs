//! The members that rows of a request have in common, checked once.
//!
//! Invariant: a body for which [`KnownRows::is_row`] is true keeps every rule for one row, and is stored as it was
//! sent. Of any other body, [`normalise`](super::rules::normalise) decides.

use super::members::{self, ByName};
use super::totals::Totals;
use super::value::StoredValue;
use crate::codec::Json;
use crate::model::{EdmType, PARTITION_KEY, ROW_KEY, property_size};

/// An entity has one canonical row and some index rows, whose members differ.
const MOST_KINDS: usize = 8;

/// The rows of a request so far. Those of one kind have the same members.
#[derive(Debug)]
pub(crate) struct KnownRows {
    kinds: Vec<Members>,
    most: usize,
}

impl KnownRows {
    /// None yet, of a request of so many operations.
    pub(crate) fn of(operations: usize) -> Self {
        // No row comes after the last one.
        Self { kinds: Vec::new(), most: operations.saturating_sub(1).min(MOST_KINDS) }
    }

    /// Whether an object is known to be a row under these keys, without any rest.
    pub(crate) fn is_row(&self, object: &str, partition_key: &str, row_key: &str) -> bool {
        self.kinds.iter().any(|members| members.read(object, partition_key, row_key).is_some())
    }

    /// Keeps the members of a row that is stored as it was sent.
    pub(crate) fn keep(&mut self, object: &str, row: &ByName<'_, '_>) {
        if self.kinds.len() < self.most {
            self.kinds.extend(Members::of(object, row));
        }
    }
}

/// The members of a row: the text of its object without the values, but with the types of properties.
#[derive(Debug)]
struct Members {
    text: String,
    values: Vec<Gap>,
}

/// A value of a row that is not in the text.
#[derive(Debug)]
struct Gap {
    /// Where it belongs in the text.
    at: usize,
    value: Value,
}

#[derive(Debug)]
enum Value {
    PartitionKey,
    RowKey,
    Property {
        declared: Option<EdmType>,
        /// The bytes that the property has without its value.
        size: usize,
    },
}

impl Members {
    fn of(object: &str, row: &ByName<'_, '_>) -> Option<Self> {
        let mut members = Self { text: String::with_capacity(object.len()), values: Vec::new() };
        let mut from = 0;
        for (at, member) in row.iter() {
            let value = match &*member.name {
                PARTITION_KEY => Value::PartitionKey,
                ROW_KEY => Value::RowKey,
                _ if member.annotated().is_some() => continue,
                name => Value::Property {
                    declared: match row.annotation(at) {
                        Some(annotation) => Some(EdmType::from_name(&members::text(annotation)?)?),
                        None => None,
                    },
                    size: property_size(name, 0),
                },
            };
            let start = member.value.as_ptr().addr().checked_sub(object.as_ptr().addr())?;
            members.text.push_str(object.get(from..start)?);
            members.values.push(Gap { at: members.text.len(), value });
            from = start + member.value.len();
        }
        members.text.push_str(object.get(from..)?);
        Some(members)
    }

    /// Checks an object. `None` where it has other members, or a rule is broken.
    fn read(&self, object: &str, partition_key: &str, row_key: &str) -> Option<()> {
        let mut json = Json { rest: object };
        let mut totals = Totals::of_keys(partition_key, row_key);
        let mut from = 0;
        for Gap { at, value } in &self.values {
            json.rest = json.rest.strip_prefix(&self.text[from..*at])?;
            let text = json.raw().ok()?;
            match value {
                Value::PartitionKey => (members::text(text)? == partition_key).then_some(())?,
                Value::RowKey => (members::text(text)? == row_key).then_some(())?,
                Value::Property { declared, size } => {
                    let value = match declared {
                        Some(edm) => StoredValue::parse(text, *edm)?,
                        None => StoredValue::read(text, None).ok()?,
                    };
                    value.excess().is_none().then_some(())?;
                    totals.add(size + value.size());
                }
            }
            from = *at;
        }
        (json.rest == &self.text[from..]).then_some(())?;
        totals.check().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::KnownRows;
    use crate::embedded::rules::normalise;
    use bytes::Bytes;
    use proptest::prelude::*;

    /// What a body is stored as, after rows of these bodies.
    fn after(known: &[&str], body: &str) -> Result<Bytes, String> {
        let mut rows = KnownRows::of(known.len() + 2);
        let mut store = |body: &str| {
            normalise(&Bytes::copy_from_slice(body.as_bytes()), "p", "r", &mut rows)
                .map_err(|error| error.to_string())
        };
        known.iter().for_each(|body| drop(store(body)));
        store(body)
    }

    fn body(members: &[&str]) -> String {
        let start = r#"{"PartitionKey":"p","RowKey":"r""#;
        format!(
            "{start}{}}}",
            members.iter().map(|member| format!(",{member}")).collect::<String>()
        )
    }

    const MEMBERS: [&str; 16] = [
        r#""A":1"#,
        r#""A":null"#,
        r#""A":"x\"","B":[1]"#,
        r#""A":{"B":1}"#,
        r#""A":2147483648"#,
        r#""A":007"#,
        r#""A":"1","A@odata.type":"Edm.Int64""#,
        r#""A":"x","A@odata.type":"Edm.Int64""#,
        r#""A":"1","A@odata.type":"Edm.Guid""#,
        r#""A@odata.type":"Edm.Double","A":1"#,
        r#""A@odata.type":"Edm.Double","A":"Infinity""#,
        r#""A" : true"#,
        r#""B":"\ud800""#,
        r#""B":1.5,"#,
        r#""RowKey":"r""#,
        r#""Timestamp":"x""#,
    ];

    #[test]
    fn rows_of_a_known_kind_are_checked_like_others() {
        for first in MEMBERS {
            for second in MEMBERS {
                let (first, second) = (body(&[first]), body(&[second]));
                assert_eq!(after(&[&first], &second), after(&[], &second), "{first} {second}");
            }
        }
        let small = body(&[r#""A":"x""#]);
        let other = r#"{"PartitionKey":"other","RowKey":"r","A":"x"}"#;
        assert_eq!(after(&[&small], other), after(&[], other));
        let large = body(&[&format!("\"A\":\"{}\"", "x".repeat(32 * 1024 + 1))]);
        assert!(after(&[&small], &large).unwrap_err().contains("32769 UTF-16 units"));
    }

    #[test]
    fn the_totals_of_a_known_kind_are_checked() {
        let members = |length: usize| {
            let member = |n| format!("\"P{n}\":\"{}\"", "x".repeat(length));
            (0..32).map(member).collect::<Vec<_>>()
        };
        let row = |length| body(&members(length).iter().map(String::as_str).collect::<Vec<_>>());
        let (small, large) = (row(1), row(16 * 1024));
        assert!(after(&[&small], &large).unwrap_err().contains("the limit is 1048576"));
        assert_eq!(after(&[&small], &small).unwrap(), small);
    }

    proptest! {
        #[test]
        fn any_rows_are_checked_as_if_each_were_alone(
            bodies in prop::collection::vec(
                prop::collection::vec(prop::sample::select(MEMBERS.to_vec()), 0..3),
                1..6,
            ),
        ) {
            let bodies: Vec<_> = bodies.iter().map(|members| body(members)).collect();
            let bodies: Vec<_> = bodies.iter().map(String::as_str).collect();
            let (last, before) = bodies.split_last().unwrap();
            prop_assert_eq!(after(before, last), after(&[], last));
        }
    }
}
