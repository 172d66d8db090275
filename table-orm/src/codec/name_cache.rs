//! A cache of the member names of a page's rows: each name is parsed once for all rows.
//!
//! Invariant: a cached name matches only its whole text, so what is read from a row does not depend
//! on the rows before it.

use crate::model::{ETAG_MEMBER, PARTITION_KEY, ROW_KEY, TIMESTAMP, TYPE_ANNOTATION};

/// How many cached names a row may lack and still match.
const LOOK_AHEAD: usize = 4;
/// The bytes that are compared as one number.
const WORD: usize = 16;
/// The most members of a row: 255 properties, and an annotation for each.
const MAX_NAMES: usize = 512;

/// The member names of the rows so far, in the order of the rows.
#[derive(Debug, Default)]
pub(crate) struct NameCache<'de>(Vec<CachedName<'de>>);

#[derive(Debug)]
pub(crate) struct CachedName<'de> {
    /// Whether it is the first name of its row.
    is_first: bool,
    /// The start of the text, and which bits of it count: most texts are short, and compared as one number.
    start: u128,
    mask: u128,
    /// From the brace or comma before the name to the colon after it.
    text: &'de str,
    name: &'de str,
    role: MemberRole,
    /// The type that the member had in a row before, with its quotes; empty for other members.
    edm: &'de str,
}

/// What a member holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberRole {
    PartitionKey,
    RowKey,
    Timestamp,
    ETag,
    /// The type of a property.
    Annotation,
    /// A property, a mark, or what a later version of the service adds.
    Property,
}

impl MemberRole {
    pub fn of(name: &str) -> Self {
        match name {
            PARTITION_KEY => Self::PartitionKey,
            ROW_KEY => Self::RowKey,
            TIMESTAMP => Self::Timestamp,
            ETAG_MEMBER => Self::ETag,
            _ if name.ends_with(TYPE_ANNOTATION) => Self::Annotation,
            _ => Self::Property,
        }
    }

    pub const fn is_key(self) -> bool {
        matches!(self, Self::PartitionKey | Self::RowKey)
    }
}

/// A matched name, the position after it in the cache, and the unread text.
type Match<'de> = (&'de str, usize, &'de str);

impl<'de> NameCache<'de> {
    /// The name at the start of `rest` and the text behind it, if it is the cached name at position `place`.
    #[inline]
    pub fn expected(
        &self,
        place: usize,
        is_first: bool,
        rest: &'de str,
    ) -> Option<(&CachedName<'de>, &'de str)> {
        let cached = self.0.get(place)?;
        Some((cached, cached.find(is_first, rest)?))
    }

    /// The name at the start of `rest`, if it is one of the next cached names from position
    /// `place`.
    pub fn find(&self, place: usize, is_first: bool, rest: &'de str) -> Option<Match<'de>> {
        match self.expected(place, is_first, rest) {
            Some((cached, rest)) => Some((cached.name, place + 1, rest)),
            None => self.look_ahead(place + 1, is_first, rest),
        }
    }

    #[cold]
    fn look_ahead(&self, place: usize, is_first: bool, rest: &'de str) -> Option<Match<'de>> {
        (place..place + LOOK_AHEAD).find_map(|place| {
            let (cached, rest) = self.expected(place, is_first, rest)?;
            Some((cached.name, place + 1, rest))
        })
    }

    /// The text behind the type of a property whose name was the last to be matched, up to position `place`, if the
    /// type is that of a row before.
    #[inline]
    pub fn after_type(&self, place: usize, rest: &'de str) -> Option<&'de str> {
        let edm = self.0.get(place.checked_sub(1)?)?.edm;
        rest.strip_prefix(edm).filter(|_| !edm.is_empty())
    }

    /// Keeps the type behind the name that was the last to be matched, up to position `place`.
    pub fn keep_type(&mut self, place: usize, edm: &'de str) {
        let last = place.checked_sub(1).and_then(|place| self.0.get_mut(place));
        // The text of a string ends with its quote, so no longer text starts with it.
        if let Some(last) = last.filter(|_| edm.starts_with('"')) {
            last.edm = edm;
        }
    }

    /// Inserts a name at position `place` and returns the position after it; `None` when the cache
    /// is full, because the rows have too few names in common.
    pub fn insert(&mut self, place: usize, name: CachedName<'de>) -> Option<usize> {
        if self.0.len() == MAX_NAMES {
            return None;
        }
        self.0.insert(place, name);
        Some(place + 1)
    }
}

impl<'de> CachedName<'de> {
    pub fn new(is_first: bool, text: &'de str, name: &'de str) -> Self {
        let (mut start, mut mask) = ([0; WORD], [0; WORD]);
        for (at, byte) in text.bytes().take(WORD).enumerate() {
            (start[at], mask[at]) = (byte, u8::MAX);
        }
        let [start, mask] = [start, mask].map(u128::from_ne_bytes);
        Self { is_first, start, mask, text, name, role: MemberRole::of(name), edm: "" }
    }

    pub const fn name(&self) -> &'de str {
        self.name
    }

    pub const fn role(&self) -> MemberRole {
        self.role
    }

    /// The text behind the name, if `rest` starts with it.
    #[inline]
    fn find(&self, is_first: bool, rest: &'de str) -> Option<&'de str> {
        let is_start = match rest.as_bytes().first_chunk::<WORD>() {
            Some(start) => {
                (u128::from_ne_bytes(*start) ^ self.start) & self.mask == 0
                    && (self.text.len() <= WORD || self.starts(rest))
            }
            None => self.starts(rest),
        };
        let rest = rest.get(self.text.len()..).filter(|_| is_start)?;
        (self.is_first == is_first).then_some(rest)
    }

    #[inline(never)]
    fn starts(&self, rest: &str) -> bool {
        rest.starts_with(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_takes_no_more_names() {
        let name = || CachedName::new(false, ",\"A\":", "A");
        let mut names = NameCache::default();
        for place in 0..MAX_NAMES {
            assert_eq!(names.insert(place, name()), Some(place + 1));
        }
        assert_eq!(names.insert(0, name()), None);
    }

    #[test]
    fn names_that_a_row_lacks_are_skipped() {
        let texts = [",\"A\":", ",\"B\":", ",\"C\":", ",\"D\":", ",\"E\":", ",\"F\":"];
        let mut names = NameCache::default();
        for (place, text) in texts.into_iter().enumerate() {
            names.insert(place, CachedName::new(false, text, &text[2..3]));
        }
        assert_eq!(names.find(0, false, ",\"A\":1"), Some(("A", 1, "1")));
        assert_eq!(names.find(0, false, ",\"E\":1"), Some(("E", 5, "1")));
        assert_eq!(names.find(0, false, ",\"F\":1"), None);
        assert_eq!(names.find(0, true, ",\"A\":1"), None);
        assert_eq!(names.find(6, false, ",\"A\":1"), None);
    }

    #[test]
    fn a_name_is_found_by_its_whole_text_wherever_the_row_ends() {
        let name = |length: usize| "N".repeat(length);
        for length in [1, 12, 13, 14, 30] {
            let (text, name) = (format!(",\"{}\":", name(length)), name(length));
            let cached = CachedName::new(false, &text, &name);
            for rest in ["", "1", "1}", "1,\"A\":true,\"B\":false}"] {
                let row = format!("{text}{rest}");
                assert_eq!(cached.find(false, &row), Some(rest));
            }
            for end in 0..text.len() {
                assert_eq!(cached.find(false, &text[..end]), None, "{text} {end}");
                let mut other = format!("{text}1,\"A\":true}}").into_bytes();
                other[end] = b'x';
                assert_eq!(cached.find(false, &String::from_utf8(other).unwrap()), None);
            }
            assert_eq!(cached.find(false, &format!("{}é", &text[..text.len() - 1])), None);
        }
    }
}
