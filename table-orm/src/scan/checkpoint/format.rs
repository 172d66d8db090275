//! A checkpoint's text: one JSON object, the same in a file and in a row.

use crate::entity::RowHead;
use crate::error::ScanError;
use crate::scan::engine::{Position, ScanState, Unsettled};
use serde_json::{Value, json};

/// The version of the format.
const VERSION: u64 = 1;

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
    json!({ "version": VERSION, "table": table, "query": query, "ranges": ranges }).to_string()
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
