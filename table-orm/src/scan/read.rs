//! What a scan makes of the rows of a page.

use super::page_keys::key;
use crate::entity::{ReadRow, read_row, read_rows};
use crate::error::Result;
use serde_json::value::RawValue;

/// The rows themselves.
pub(super) fn rows<T: ReadRow>(
    row: usize,
    body: &[u8],
    kept: &[&RawValue],
    whole: bool,
) -> Result<Vec<T>> {
    if whole {
        return Ok(read_rows::<T>(row, body, None, usize::MAX)?);
    }
    kept.iter().map(|json| Ok(read_row::<T>(row, json.get().as_bytes())?)).collect()
}

/// Only how many there are.
pub(super) fn nothing(_: usize, _: &[u8], kept: &[&RawValue], _: bool) -> Result<Vec<()>> {
    Ok(vec![(); kept.len()])
}

/// Their PartitionKeys, each once.
pub(super) fn partition_keys(
    _: usize,
    _: &[u8],
    kept: &[&RawValue],
    _: bool,
) -> Result<Vec<String>> {
    let mut keys: Vec<String> = Vec::new();
    for row in kept {
        let key = key(row)?.partition_key;
        if keys.last() != Some(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}
