//! A checkpoint's text: one JSON object, the same in a file and in a row.
//!
//! Invariant: its last member is a hash of the text before it, so a text that was altered or cut short is refused.
//! As a checkpoint, such a text would skip rows.

use crate::entity::RowHead;
use crate::error::ScanError;
use crate::key::fnv;
use crate::scan::engine::{Position, ScanState, Unsettled};
use serde_json::{Value, json};

/// The version of the format. Version 1 had no hash.
const VERSION: u64 = 2;

/// What is left to read, from one position to another; `None` is the end of the table.
pub(super) type Unread = (Position, Option<Position>);

/// Which scan a checkpoint is of.
#[derive(Debug)]
pub(super) struct Scanned {
    pub table: String,
    /// Of the keys, filter and selection.
    pub query: String,
}

pub(super) fn read(text: &[u8], scanned: &Scanned, home: &str) -> Result<Vec<Unread>, ScanError> {
    let malformed = || ScanError::CheckpointMalformed(home.to_owned());
    let value: Value = serde_json::from_slice(text).map_err(|_| malformed())?;
    let found = value["version"].as_u64().ok_or_else(malformed)?;
    if found != VERSION {
        return Err(ScanError::CheckpointVersion { found, expected: VERSION });
    }
    if !is_sealed(text) {
        return Err(malformed());
    }
    let table = value["table"].as_str().ok_or_else(malformed)?;
    if !table.eq_ignore_ascii_case(&scanned.table) {
        let (found, expected) = (table.to_owned(), scanned.table.clone());
        return Err(ScanError::CheckpointTable { found, expected });
    }
    if value["query"].as_str().ok_or_else(malformed)? != scanned.query {
        return Err(ScanError::CheckpointQuery);
    }
    let ranges = value["ranges"].as_array().ok_or_else(malformed)?;
    ranges.iter().map(|range| read_range(range).ok_or_else(malformed)).collect()
}

pub(super) fn write<T>(scanned: &Scanned, state: &ScanState<T>) -> String {
    let keys_only = state.rules.keys_only;
    let range = |Unsettled { start, end, delivered }: Unsettled<'_>| {
        let last = delivered.map(|RowHead { partition_key, row_key }| {
            if keys_only { json!([partition_key]) } else { json!([partition_key, row_key]) }
        });
        let end = end.map(|end| json!([end.pk, end.rk]));
        json!({ "from": [start.pk, start.rk], "to": end, "last": last })
    };
    let ranges: Vec<Value> = state.unsettled().map(range).collect();
    let Scanned { table, query } = scanned;
    let text = json!({ "version": VERSION, "table": table, "query": query, "ranges": ranges });
    sealed(text.to_string())
}

/// Adds the hash to the text of an object with members.
fn sealed(mut object: String) -> String {
    object.pop();
    let seal = seal(object.as_bytes());
    object + &seal
}

fn is_sealed(text: &[u8]) -> bool {
    let seal_len = seal(&[]).len();
    let split = text.len().checked_sub(seal_len).and_then(|at| text.split_at_checked(at));
    split.is_some_and(|(members, found)| found == seal(members).as_bytes())
}

/// The end of an object that starts with these bytes. A change of one byte always changes it.
fn seal(members: &[u8]) -> String {
    format!(r#","check":"{:016x}"}}"#, fnv(members))
}

fn read_range(range: &Value) -> Option<Unread> {
    let text = |key: &Value, at: usize| key.get(at).and_then(Value::as_str).map(str::to_owned);
    let position = |key: &Value| Some(Position::new(text(key, 0)?, text(key, 1)?));
    let end = match range.get("to")? {
        Value::Null => None,
        end => Some(position(end)?),
    };
    let start = match range.get("last")? {
        Value::Null => position(range.get("from")?)?,
        last => {
            let partition_key = text(last, 0)?;
            match text(last, 1) {
                Some(row_key) => Position::after(&RowHead { partition_key, row_key }),
                None => Position::after_partition(&partition_key),
            }
        }
    };
    Some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dose::dose;
    use proptest::prelude::*;

    fn scanned() -> Scanned {
        Scanned { table: "things".to_owned(), query: "0123456789abcdef".to_owned() }
    }

    fn read_back(text: &[u8]) -> Result<Vec<Unread>, ScanError> {
        read(text, &scanned(), "here")
    }

    /// A checkpoint with ranges between these keys.
    fn checkpoint(keys: &[(String, String)]) -> String {
        let range = |at: usize| {
            let to = keys.get(at + 1);
            json!({ "from": keys[at], "to": to, "last": null })
        };
        let ranges: Vec<_> = (0..keys.len()).map(range).collect();
        let object = json!({
            "version": VERSION, "table": "things", "query": scanned().query, "ranges": ranges
        });
        sealed(object.to_string())
    }

    #[test]
    fn an_earlier_version_is_named() {
        let old = br#"{"query":"0123456789abcdef","ranges":[],"table":"things","version":1}"#;
        let found = read_back(old).unwrap_err();
        assert!(matches!(found, ScanError::CheckpointVersion { found: 1, expected: 2 }), "{found}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(dose(16, 1024)))]
        #[test]
        fn a_checkpoint_with_a_byte_altered_added_or_missing_is_refused(
            keys in prop::collection::vec((".{0,9}", ".{0,9}"), 0..4),
            bits in 1..=255_u8,
            added in any::<u8>(),
        ) {
            let text = checkpoint(&keys).into_bytes();
            prop_assert_eq!(read_back(&text).unwrap().len(), keys.len());
            for at in 0..text.len() {
                let mut altered = text.clone();
                altered[at] ^= bits;
                prop_assert!(read_back(&altered).is_err(), "{at}");
                altered[at] ^= bits;
                altered.insert(at, added);
                prop_assert!(read_back(&altered).is_err(), "{at}");
                prop_assert!(read_back(&text[..at]).is_err(), "{at}");
                prop_assert!(read_back(&text[at + 1..]).is_err(), "{at}");
            }
            prop_assert!(read_back(&[&*text, &[added]].concat()).is_err());
        }
    }
}
