//! Whether names can be all different without a look at each pair.

const WORDS: usize = 8;

/// A set of names that forgets all of each but a mark, one of 512.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks {
    seen: [u64; WORDS],
    /// Whether two of the names have the same mark. Like names always do.
    pub(crate) alike: bool,
}

impl Marks {
    /// Adds a name.
    pub(crate) fn add(&mut self, name: &[u8]) {
        let at = |index: usize| name.get(index).map_or(0, |byte| usize::from(*byte));
        let length = name.len();
        let mark = length + 5 * at(0) + 31 * at(length / 2) + 67 * at(length.saturating_sub(1));
        let word = &mut self.seen[mark / 64 % WORDS];
        let bit = 1 << (mark % 64);
        self.alike |= *word & bit != 0;
        *word |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn alike<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> bool {
        let mut marks = Marks::default();
        names.into_iter().for_each(|name| marks.add(name));
        marks.alike
    }

    #[test]
    fn common_names_have_marks_of_their_own() {
        let names = ["PartitionKey", "RowKey", "Timestamp", "Id", "Name", "City", "Age", "Rank"];
        assert!(!alike(names.iter().map(|name| name.as_bytes())));
        assert!(!alike([]));
    }

    proptest! {
        #[test]
        fn like_names_are_never_missed(mut names in proptest::collection::vec(".{0,9}", 1..20)) {
            names.push(names[names.len() / 2].clone());
            prop_assert!(alike(names.iter().map(|name| name.as_bytes())));
        }
    }
}
