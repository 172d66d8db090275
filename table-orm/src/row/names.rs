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
pub(super) struct Names<'de>(Vec<Name<'de>>);

#[derive(Debug)]
pub(super) struct Name<'de> {
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

    /// Adds a name behind the first `place`. The place behind it.
    pub fn insert(&mut self, place: usize, name: Name<'de>) -> usize {
        if self.0.len() == MAX_NAMES {
            return place;
        }
        self.0.insert(place, name);
        place + 1
    }
}

impl<'de> Name<'de> {
    fn find(&self, is_first: bool, rest: &'de str) -> Option<(&'de str, &'de str)> {
        let rest = rest.strip_prefix(self.text)?;
        (self.is_first == is_first).then_some((self.name, rest))
    }
}
