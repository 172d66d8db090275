//! Names that a property can have.

use crate::model::{MAX_NAME_CHARS, order};

/// One in each byte.
const ONES: u64 = u64::MAX / 255;
const TOP_BITS: u64 = ONES << 7;

/// Returns whether a property can have that name: the rules of a C# identifier, at most 255 UTF-16 units
/// (service documentation, "Understanding the Table service data model").
#[must_use]
pub fn is_property_name(name: &str) -> bool {
    if name.len() <= MAX_NAME_CHARS && are_letters(name.as_bytes()) {
        return !name.is_empty();
    }
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_')
        && order::len(name) <= MAX_NAME_CHARS
}

/// Whether all bytes are ASCII letters. Each property that is written asks, so eight are compared at a time, some of
/// them twice.
#[inline]
fn are_letters(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk() {
        let (words, _) = bytes.as_chunks();
        return words
            .iter()
            .chain([last])
            .all(|word| is_word_of_letters(u64::from_le_bytes(*word)));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
        return is_word_of_letters(first << 32 | last);
    }
    bytes.iter().all(u8::is_ascii_alphabetic)
}

#[inline]
const fn is_word_of_letters(word: u64) -> bool {
    // In lower case, unless the byte is no letter. A sum gets the top bit of its byte, and never a carry.
    let lower = word | (ONES * 0x20);
    let from_a = lower.wrapping_add(ONES * (0x80 - b'a') as u64);
    let behind_z = lower.wrapping_add(ONES * (0x80 - b'z' - 1) as u64);
    word & TOP_BITS == 0 && from_a & !behind_z & TOP_BITS == TOP_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_told_from_all_other_bytes_at_every_place() {
        for length in [1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24] {
            assert!(are_letters(&b"AZazKkMmAZazKkMmAZazKkMm"[..length]), "{length}");
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'z'; length];
                    bytes[place] = byte;
                    let found = are_letters(&bytes);
                    assert_eq!(found, byte.is_ascii_alphabetic(), "{byte} at {place} of {length}");
                }
            }
        }
        assert!(are_letters(b""));
    }
}
