//! A cache of the member names of a page's rows: each name is parsed once for all rows.
//!
//! Invariant: a cached name matches only its whole text, so what is read from a row does not depend
//! on the rows before it.

/// How many cached names a row may lack and still match.
const LOOK_AHEAD: usize = 4;
/// The most members of a row: 255 properties, and an annotation for each.
const MAX_NAMES: usize = 512;

/// The member names of the rows so far, in the order of the rows.
#[derive(Debug, Default)]
pub(crate) struct NameCache<'de>(Vec<CachedName<'de>>);

#[derive(Debug)]
pub(crate) struct CachedName<'de> {
    /// Whether it is the first name of its row.
    pub is_first: bool,
    /// From the brace or comma before the name to the colon after it.
    pub text: &'de str,
    pub name: &'de str,
}

/// A matched name, the position after it in the cache, and the unread text.
type Match<'de> = (&'de str, usize, &'de str);

impl<'de> NameCache<'de> {
    /// The name at the start of `rest`, if it is one of the next cached names from position
    /// `place`.
    pub fn find(&self, place: usize, is_first: bool, rest: &'de str) -> Option<Match<'de>> {
        match self.0.get(place)?.find(is_first, rest) {
            Some((name, rest)) => Some((name, place + 1, rest)),
            None => self.look_ahead(place + 1, is_first, rest),
        }
    }

    #[cold]
    fn look_ahead(&self, place: usize, is_first: bool, rest: &'de str) -> Option<Match<'de>> {
        (place..place + LOOK_AHEAD).find_map(|place| {
            let (name, rest) = self.0.get(place)?.find(is_first, rest)?;
            Some((name, place + 1, rest))
        })
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
    fn find(&self, is_first: bool, rest: &'de str) -> Option<(&'de str, &'de str)> {
        let rest = rest.strip_prefix(self.text)?;
        (self.is_first == is_first).then_some((self.name, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_cache_takes_no_more_names() {
        let name = || CachedName { is_first: false, text: ",\"A\":", name: "A" };
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
            names.insert(place, CachedName { is_first: false, text, name: &text[2..3] });
        }
        assert_eq!(names.find(0, false, ",\"A\":1"), Some(("A", 1, "1")));
        assert_eq!(names.find(0, false, ",\"E\":1"), Some(("E", 5, "1")));
        assert_eq!(names.find(0, false, ",\"F\":1"), None);
        assert_eq!(names.find(0, true, ",\"A\":1"), None);
        assert_eq!(names.find(6, false, ",\"A\":1"), None);
    }
}
