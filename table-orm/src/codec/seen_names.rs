//! A quick check whether names may repeat, before each pair is compared.

const WORDS: usize = 8;

/// A set of names that keeps one of 512 hash bits of each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SeenNames {
    seen: [u64; WORDS],
    /// Whether two of the names have the same bit. Equal names always have.
    pub(crate) may_repeat: bool,
}

impl SeenNames {
    /// Adds a name.
    pub(crate) fn add(&mut self, name: &[u8]) {
        let at = |index: usize| name.get(index).map_or(0, |byte| usize::from(*byte));
        let length = name.len();
        let hash = length + 5 * at(0) + 31 * at(length / 2) + 67 * at(length.saturating_sub(1));
        let word = &mut self.seen[hash / 64 % WORDS];
        let bit = 1 << (hash % 64);
        self.may_repeat |= *word & bit != 0;
        *word |= bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn may_repeat<'n>(names: impl IntoIterator<Item = &'n [u8]>) -> bool {
        let mut seen = SeenNames::default();
        names.into_iter().for_each(|name| seen.add(name));
        seen.may_repeat
    }

    #[test]
    fn common_names_have_different_bits() {
        let names = ["PartitionKey", "RowKey", "Timestamp", "Id", "Name", "City", "Age", "Rank"];
        assert!(!may_repeat(names.iter().map(|name| name.as_bytes())));
        assert!(!may_repeat([]));
    }

    proptest! {
        #[test]
        fn equal_names_are_never_missed(mut names in proptest::collection::vec(".{0,9}", 1..20)) {
            names.push(names[names.len() / 2].clone());
            prop_assert!(may_repeat(names.iter().map(|name| name.as_bytes())));
        }
    }
}
