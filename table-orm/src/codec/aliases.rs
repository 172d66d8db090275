//! Former names of properties.
//!
//! Invariant: of a property that a row has under several names, every reader takes the value under the alias that
//! is listed first, and the present name comes last. A writer that knows the aliases removes them with each write.
//! So a row that has one was last written by a writer that does not know them.

use super::object::members_by_name;
use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;

/// A former name of a property, and its present name.
pub type Alias = (&'static str, &'static str);

/// Moves the values under former names to the present ones.
pub(crate) fn rename<'n, N, V>(properties: &mut BTreeMap<N, V>, aliases: &[(&'n str, &'n str)])
where
    N: Ord + Borrow<str> + From<&'n str>,
{
    // The first alias comes last, and replaces the values of the others.
    for &(former, present) in aliases.iter().rev() {
        if let Some(value) = properties.remove(former) {
            properties.insert(present.into(), value);
        }
    }
}

/// Whether the JSON object of a row has a property under a former name.
pub(crate) fn has_former_names(object: &[u8], aliases: &[Alias]) -> bool {
    !aliases.is_empty()
        && members_by_name(object)
            .is_ok_and(|members| aliases.iter().any(|(former, _)| members.contains_key(*former)))
}

/// The aliases that a row had so far, and the properties whose values they hold.
#[derive(Debug, Default)]
pub(super) struct AliasesRead(Vec<(&'static str, usize)>);

impl AliasesRead {
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// The present name of a property that the row has under the name `stored`. `None` when this value does
    /// not count, because the row had a name that counts before it.
    pub fn present_name<'n>(
        &mut self,
        stored: Cow<'n, str>,
        aliases: &'static [Alias],
    ) -> Option<Cow<'n, str>> {
        let alias = aliases.iter().position(|(former, _)| *former == stored);
        let (present, rank) = match alias {
            Some(rank) => (Cow::Borrowed(aliases[rank].1), rank),
            None => (stored, aliases.len()),
        };
        if self.0.iter().any(|(read, before)| *read == present && *before < rank) {
            return None;
        }
        self.0.extend(alias.map(|rank| (aliases[rank].1, rank)));
        Some(present)
    }
}
