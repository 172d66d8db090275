//! The old key of an entity, from its new key alone.
//!
//! Invariant: one new key has one old key, or none where no old key holds its values.

use super::migrates::Migrates;
use super::placeholder::{Placeholder, same};
use crate::entity::{OwnRows, RowTemplate, TableEntity, canonical, template_at};
use crate::key::{KeyTemplate, TemplatePart};
use crate::plan::CanonicalKey;

/// A template with its text.
#[derive(Clone, Copy)]
pub(super) struct Template {
    pub text: &'static str,
    pub start: &'static str,
    pub parts: &'static [TemplatePart],
}

impl Template {
    /// That of the PartitionKey.
    pub const fn partition<E: TableEntity>() -> Self {
        Self { text: E::PARTITION, start: E::PARTITION_KEY.start, parts: E::PARTITION_KEY.parts }
    }

    /// That of the canonical RowKey.
    pub const fn row<E: TableEntity>() -> Self {
        match template_at::<E>(canonical::<E>()) {
            Some(RowTemplate { key, start, parts, .. }) => Self { text: key, start, parts },
            // The fallback of an entity with a compile error has no rows.
            None => Self { text: "", start: "", parts: &[] },
        }
    }

    pub const fn placeholder(&self, index: usize) -> Placeholder<'static> {
        Placeholder::of(self.text, self.parts, index)
    }

    /// The placeholder that tells the text of `old`.
    const fn telling(&self, old: &Placeholder<'_>) -> Option<usize> {
        let mut index = 0;
        while index < self.parts.len() {
            if old.is_told_by(&self.placeholder(index)) {
                return Some(index);
            }
            index += 1;
        }
        None
    }

    /// Whether each placeholder of `old` is told by one of these templates, which is among the names.
    pub const fn are_telling(new: &[Self; 2], old: &Self, names: &[&str]) -> bool {
        let mut index = 0;
        while index < old.parts.len() {
            let placeholder = old.placeholder(index);
            let told =
                new[0].telling(&placeholder).is_some() || new[1].telling(&placeholder).is_some();
            if !told || !holds(names, placeholder.part.name) {
                return false;
            }
            index += 1;
        }
        true
    }

    /// Whether this template alone tells each placeholder of `old`.
    fn tells(&self, old: &Self) -> bool {
        (0..old.parts.len()).all(|index| self.telling(&old.placeholder(index)).is_some())
    }

    /// The key of this template with the values of keys of others; `None` where one of them has not this form, or
    /// a value does not fit.
    fn written_from(&self, keys: &[(Self, &str)]) -> Option<String> {
        let mut written = self.start.to_owned();
        for (index, part) in self.parts.iter().enumerate() {
            let placeholder = self.placeholder(index);
            let told =
                keys.iter().find_map(|(new, key)| Some((new, *key, new.telling(&placeholder)?)));
            let (new, key, at) = told?;
            let text = KeyTemplate { start: new.start, parts: new.parts }.text(at, key)?;
            written.push_str(&placeholder.text_for(&new.placeholder(at), text)?);
            written.push_str(part.separator);
        }
        Some(written)
    }
}

const fn holds(names: &[&str], name: &str) -> bool {
    let mut at = 0;
    while at < names.len() {
        if same(names[at], name) {
            return true;
        }
        at += 1;
    }
    false
}

/// The old key of the entity with that new key; `None` where no old key holds its values.
pub(super) fn old_key<E: Migrates>(new: &CanonicalKey) -> Option<CanonicalKey> {
    let keys = [
        (Template::partition::<E>(), new.partition_key.as_str()),
        (Template::row::<E>(), new.row_key.as_str()),
    ];
    let row_key = Template::row::<E::Old>().written_from(&keys)?;
    let partition_key = Template::partition::<E::Old>().written_from(&keys)?;
    OwnRows::canonical::<E::Old>()
        .takes_key(&row_key)
        .then_some(CanonicalKey { partition_key, row_key })
}

/// Whether all entities of a new partition have one old partition.
pub(super) fn is_of_one_partition<E: Migrates>() -> bool {
    Template::partition::<E>().tells(&Template::partition::<E::Old>())
}

/// The old partition of the entities of a new one; `None` where no old partition holds its values.
pub(super) fn old_partition<E: Migrates>(new: &str) -> Option<String> {
    Template::partition::<E::Old>().written_from(&[(Template::partition::<E>(), new)])
}
