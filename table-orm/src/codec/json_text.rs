//! The JSON text of values and keys.

use crate::model::{PARTITION_KEY, ROW_KEY};
use serde::Serialize;

/// Appends JSON text.
pub fn write_string(json: &mut Vec<u8>, value: &str) {
    // A fold without an early exit compiles to a loop that checks several bytes at a time.
    let plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if value.bytes().fold(true, |all, byte| all & plain(byte)) {
        json.push(b'"');
        json.extend_from_slice(value.as_bytes());
        json.push(b'"');
    } else {
        number(json, value);
    }
}

/// The bytes that [`write_keys`] adds to keys without escapes.
pub(crate) const KEYS_FRAME: usize = PARTITION_KEY.len() + ROW_KEY.len() + 12;

/// Starts a row's object with the members of its keys.
pub fn write_keys(json: &mut Vec<u8>, partition_key: &str, row_key: &str) {
    for (start, name, key) in [("{\"", PARTITION_KEY, partition_key), (",\"", ROW_KEY, row_key)] {
        for text in [start, name, "\":"] {
            json.extend_from_slice(text.as_bytes());
        }
        write_string(json, key);
    }
}

/// Appends a value that JSON can always hold.
pub(super) fn number<T: Serialize>(json: &mut Vec<u8>, value: T) {
    // Neither numbers nor text can fail to serialize, and a `Vec` takes every byte.
    let written = serde_json::to_writer(json, &value);
    debug_assert!(written.is_ok());
}
