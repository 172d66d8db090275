//! Where the pages before a page start, in few bytes.
//!
//! Invariant: an entry is read against the start of the page after it, so the oldest entries can be
//! dropped, and one entry is unpacked at a time.

use crate::model::Continuation;
use std::marker::PhantomData;

/// The most bytes of all entries. In the text of a token they are a third more.
pub(crate) const MAX_EARLIER_BYTES: usize = 1024;

/// Where a page starts, as an entry keeps it.
pub(crate) trait EarlierStart: Sized {
    /// Writes what differs from the start after it.
    fn write(&self, bytes: &mut Vec<u8>, next: &Self);

    /// `None` for bytes that are no start.
    fn read(bytes: &mut &[u8], next: &Self) -> Option<Self>;

    /// `None` for bytes that are no start.
    fn skip(bytes: &mut &[u8]) -> Option<()>;
}

/// The starts of the pages before a page, the nearest first. An entry holds what differs from the
/// start after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct EarlierPages<S>(Vec<u8>, PhantomData<S>);

impl<S: EarlierStart> EarlierPages<S> {
    /// Those of a page that starts at `next`, after a page that starts at `start` and has these.
    /// Forgets the oldest when all are too many bytes.
    pub fn push(&self, start: &S, next: &S) -> Self {
        let mut bytes = Vec::new();
        start.write(&mut bytes, next);
        bytes.extend_from_slice(&self.0);
        let mut rest = &bytes[..];
        let mut kept = 0;
        while !rest.is_empty() && S::skip(&mut rest).is_some() {
            let end = bytes.len() - rest.len();
            if end > MAX_EARLIER_BYTES {
                break;
            }
            kept = end;
        }
        bytes.truncate(kept);
        Self(bytes, PhantomData)
    }

    /// Where the page before the one that starts at `start` starts, with those before it.
    pub fn pop(&self, start: &S) -> Option<(S, Self)> {
        let mut rest = &self.0[..];
        let previous = S::read(&mut rest, start)?;
        Some((previous, Self(rest.to_vec(), PhantomData)))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// `None` for bytes that are no entries, or too many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        while !rest.is_empty() {
            S::skip(&mut rest)?;
        }
        (bytes.len() <= MAX_EARLIER_BYTES).then(|| Self(bytes.to_vec(), PhantomData))
    }
}

impl EarlierStart for Continuation {
    fn write(&self, bytes: &mut Vec<u8>, next: &Self) {
        write_continuation(bytes, self, next);
    }

    fn read(bytes: &mut &[u8], next: &Self) -> Option<Self> {
        read_continuation(bytes, next)
    }

    fn skip(bytes: &mut &[u8]) -> Option<()> {
        for _ in 0..2 {
            split_text(bytes)?;
        }
        Some(())
    }
}

/// Writes what of a continuation differs from another.
pub(super) fn write_continuation(bytes: &mut Vec<u8>, value: &Continuation, base: &Continuation) {
    write_text(bytes, value.next_partition_key.as_deref(), base.next_partition_key.as_deref());
    write_text(bytes, value.next_row_key.as_deref(), base.next_row_key.as_deref());
}

pub(super) fn read_continuation(bytes: &mut &[u8], base: &Continuation) -> Option<Continuation> {
    Some(Continuation {
        next_partition_key: read_text(bytes, base.next_partition_key.as_deref())?,
        next_row_key: read_text(bytes, base.next_row_key.as_deref())?,
    })
}

/// Writes a text as the length that it shares with `base`, and the rest. A first number of 0 is no
/// text; n + 1 is a rest of n bytes.
pub(super) fn write_text(bytes: &mut Vec<u8>, text: Option<&str>, base: Option<&str>) {
    let Some(text) = text.map(str::as_bytes) else { return bytes.push(0) };
    let base = base.unwrap_or_default().as_bytes();
    let shared = text.iter().zip(base).take_while(|(left, right)| left == right).count();
    let rest = &text[shared..];
    write_number(bytes, rest.len() + 1);
    write_number(bytes, shared);
    bytes.extend_from_slice(rest);
}

/// Reads a text back; `None` for bytes that are not such a text.
pub(super) fn read_text(bytes: &mut &[u8], base: Option<&str>) -> Option<Option<String>> {
    let Some((shared, rest)) = split_text(bytes)? else { return Some(None) };
    let shared = base.unwrap_or_default().as_bytes().get(..shared)?;
    Some(Some(String::from_utf8([shared, rest].concat()).ok()?))
}

/// The shared length and the rest of the next text; inside, `None` is no text.
fn split_text<'a>(bytes: &mut &'a [u8]) -> Option<Option<(usize, &'a [u8])>> {
    let Some(length) = read_number(bytes)?.checked_sub(1) else { return Some(None) };
    let shared = read_number(bytes)?;
    let (rest, after) = bytes.split_at_checked(length)?;
    *bytes = after;
    Some(Some((shared, rest)))
}

/// Seven bits a byte, the lowest first; the high bit says that more follow.
pub(super) fn write_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn read_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..u64::BITS - 7).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn start(key: &str) -> Continuation {
        Continuation { next_partition_key: Some("1!4!cA--".into()), next_row_key: Some(key.into()) }
    }

    /// The starts of the pages before the last, walked back.
    fn walk_back(
        mut earlier: EarlierPages<Continuation>,
        mut from: Continuation,
    ) -> Vec<Continuation> {
        let mut starts = Vec::new();
        while let Some((start, rest)) = earlier.pop(&from) {
            starts.push(start.clone());
            (earlier, from) = (rest, start);
        }
        starts
    }

    fn walk(starts: &[Continuation]) -> EarlierPages<Continuation> {
        starts
            .windows(2)
            .fold(EarlierPages::default(), |earlier, pair| earlier.push(&pair[0], &pair[1]))
    }

    #[test]
    fn the_oldest_starts_are_forgotten_first_and_never_a_part_of_one() {
        let starts: Vec<_> =
            (0..1000).map(|page| start(&format!("1!20!{:08}", page * 997))).collect();
        let earlier = walk(&starts);
        assert!(earlier.as_bytes().len() <= MAX_EARLIER_BYTES);
        let back = walk_back(earlier, starts[999].clone());
        assert!(back.len() > 80, "{}", back.len());
        assert!(back.iter().eq(starts[..999].iter().rev().take(back.len())));
        let long = [start(&"a".repeat(2000)), start("b")];
        assert_eq!(walk(&long), EarlierPages::default());
    }

    proptest! {
        #[test]
        fn the_starts_come_back_in_reverse(
            keys in prop::collection::vec((any::<Option<String>>(), "[a-c]{0,4}"), 1..12),
        ) {
            let starts: Vec<_> = keys
                .into_iter()
                .map(|(partition, row)| Continuation {
                    next_partition_key: partition.map(|text| text.chars().take(8).collect()),
                    next_row_key: (!row.is_empty()).then_some(row),
                })
                .collect();
            let earlier = walk(&starts);
            let back = walk_back(earlier.clone(), starts[starts.len() - 1].clone());
            prop_assert!(back.iter().eq(starts[..starts.len() - 1].iter().rev()));
            prop_assert_eq!(EarlierPages::from_bytes(earlier.as_bytes()), Some(earlier));
        }

        #[test]
        fn bytes_that_are_no_entries_are_refused_and_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            if let Some(earlier) = EarlierPages::from_bytes(&bytes) {
                walk_back(earlier, start("abc"));
            }
        }
    }
}
