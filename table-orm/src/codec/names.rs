//! The names of a page's members, read once for all rows.
//!
//! Invariant: a name is known again by the whole of its text, so that what is read of a row does not
//! depend on the rows before.

/// Rows may lack some of the properties that those before had.
const LOOK_AHEAD: usize = 4;
/// No row has more members: 255 properties, and an annotation for each.
const MAX_NAMES: usize = 512;

/// The members that rows had so far, in the order in which they have them.
#[derive(Debug, Default)]
pub(crate) struct Names<'de>(Vec<Name<'de>>);

#[derive(Debug)]
pub(crate) struct Name<'de> {
    /// Whether it is the first of its row.
    pub is_first: bool,
    /// From the brace or comma before the name to the colon behind it.
    pub text: &'de str,
    pub name: &'de str,
}

/// A name that was found, the place behind it, and what is left to read.
type Found<'de> = (&'de str, usize, &'de str);

impl<'de> Names<'de> {
    /// The name that stands at the beginning of `rest`, if it is among those that come next behind
    /// the first `place`.
    pub fn find(&self, place: usize, is_first: bool, rest: &'de str) -> Option<Found<'de>> {
        match self.0.get(place)?.find(is_first, rest) {
            Some((name, rest)) => Some((name, place + 1, rest)),
            None => self.look_ahead(place + 1, is_first, rest),
        }
    }

    #[cold]
    fn look_ahead(&self, place: usize, is_first: bool, rest: &'de str) -> Option<Found<'de>> {
        (place..place + LOOK_AHEAD).find_map(|place| {
            let (name, rest) = self.0.get(place)?.find(is_first, rest)?;
            Some((name, place + 1, rest))
        })
    }

    /// Adds a name behind the first `place`: the place behind it. `None` when there are so many that
    /// the rows have too little in common.
    pub fn insert(&mut self, place: usize, name: Name<'de>) -> Option<usize> {
        if self.0.len() == MAX_NAMES {
            return None;
        }
        self.0.insert(place, name);
        Some(place + 1)
    }
}

impl<'de> Name<'de> {
    fn find(&self, is_first: bool, rest: &'de str) -> Option<(&'de str, &'de str)> {
        let rest = rest.strip_prefix(self.text)?;
        (self.is_first == is_first).then_some((self.name, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_too_many_names_is_given_up() {
        let name = || Name { is_first: false, text: ",\"A\":", name: "A" };
        let mut names = Names::default();
        for place in 0..MAX_NAMES {
            assert_eq!(names.insert(place, name()), Some(place + 1));
        }
        assert_eq!(names.insert(0, name()), None);
    }

    #[test]
    fn names_that_rows_lack_are_passed_over() {
        let texts = [",\"A\":", ",\"B\":", ",\"C\":", ",\"D\":", ",\"E\":", ",\"F\":"];
        let mut names = Names::default();
        for (place, text) in texts.into_iter().enumerate() {
            names.insert(place, Name { is_first: false, text, name: &text[2..3] });
        }
        assert_eq!(names.find(0, false, ",\"A\":1"), Some(("A", 1, "1")));
        assert_eq!(names.find(0, false, ",\"E\":1"), Some(("E", 5, "1")));
        assert_eq!(names.find(0, false, ",\"F\":1"), None);
        assert_eq!(names.find(0, true, ",\"A\":1"), None);
        assert_eq!(names.find(6, false, ",\"A\":1"), None);
    }
}
