//! A hash for the names of files and queues.
//!
//! Invariant: it is the same in every build and on every machine, because a later run must find
//! what an earlier one has named.

/// FNV-1a, 64 bit, of texts without NUL.
pub fn hash(texts: &[&str]) -> u64 {
    texts.join("\0").bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_published_ones() {
        for (text, expected) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(hash(&[text]), expected);
        }
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }
}
