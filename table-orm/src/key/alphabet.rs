//! The bytes by which two key templates can differ.
//!
//! Invariant: bytes that are left out lead each template to the same states as one that is there.

use super::shape::fits;
use super::{KeyTemplate, Shape};

/// The bytes by which two templates differ: those of their literals and codes, and one of each kind
/// beside them.
pub(super) const fn alphabet(
    left: &KeyTemplate<'_>,
    right: &KeyTemplate<'_>,
) -> ([u8; 256], usize) {
    let mut used = [false; 256];
    mark_all(left, &mut used);
    mark_all(right, &mut used);
    used[b'0' as usize] = true;
    let (mut bytes, mut count) = ([0; 256], 0);
    // Control characters are in no key.
    let (mut byte, mut kinds) = (0x20_usize, [false; 6]);
    while byte < 256 {
        let kind = &mut kinds[kind(byte as u8)];
        if used[byte] || !*kind {
            *kind |= !used[byte];
            bytes[count] = byte as u8;
            count += 1;
        }
        byte += 1;
    }
    (bytes, count)
}

/// Which of the shapes have that byte.
const fn kind(byte: u8) -> usize {
    match byte {
        b'0'..=b'7' => 0,
        b'8' | b'9' => 1,
        b'a'..=b'f' => 2,
        0x80.. => 3,
        _ if fits(b'A', byte) => 4,
        _ => 5,
    }
}

const fn mark_all(template: &KeyTemplate<'_>, used: &mut [bool; 256]) {
    mark(template.start, used);
    let mut at = 0;
    while at < template.parts.len() {
        mark(template.parts[at].separator, used);
        match template.parts[at].shape {
            Shape::Pattern(pattern) => mark(pattern, used),
            Shape::OneOf(texts) => {
                let mut text = 0;
                while text < texts.len() {
                    mark(texts[text], used);
                    text += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

const fn mark(text: &str, used: &mut [bool; 256]) {
    let mut at = 0;
    while at < text.len() {
        used[text.as_bytes()[at] as usize] = true;
        at += 1;
    }
}
