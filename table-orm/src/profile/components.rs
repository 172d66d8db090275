//! How many different values each component of the keys of known types has.
//!
//! Invariant: a component is counted in every row of its template, so its count is that of the stored rows. The
//! memory is bounded by the templates of the types.

use super::distinct::DistinctCount;
use super::known_type::{KnownType, RowPlace};
use super::report::{ComponentProfile, RowRole};
use crate::key::TextTemplate;
use crate::model::{PARTITION_KEY, ROW_KEY};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The components so far.
#[derive(Default)]
pub(super) struct Components {
    tallies: Vec<(ComponentProfile, DistinctCount)>,
    /// By the kind of a row.
    by_kind: Vec<Option<KindKeys>>,
}

/// The keys of a kind of row, each with the place of its first component among the tallies.
#[derive(Clone)]
struct KindKeys {
    partition: (TextTemplate, usize),
    row: (TextTemplate, usize),
}

impl Components {
    /// Knows the kinds of a type. `first` is the place of its first kind.
    pub fn know(&mut self, known: &KnownType, first: usize) {
        let own = self.key(known, None, PARTITION_KEY, &known.partition);
        for (at, row) in known.rows.iter().enumerate() {
            if row.role == RowRole::Guard {
                continue;
            }
            let name = Some(&*row.name);
            let partition = match &row.place {
                RowPlace::Home => own.clone(),
                RowPlace::Eventual { partition, .. } => {
                    self.key(known, name, PARTITION_KEY, partition)
                }
            };
            let row = self.key(known, name, ROW_KEY, &row.key);
            self.put(first + at, KindKeys { partition, row });
        }
    }

    fn key(
        &mut self,
        known: &KnownType,
        row: Option<&str>,
        key: &str,
        template: &TextTemplate,
    ) -> (TextTemplate, usize) {
        let first = self.tallies.len();
        self.tallies.extend(template.components().map(|name| {
            let component = ComponentProfile {
                entity: known.name.clone(),
                row: row.map(str::to_owned),
                key: key.to_owned(),
                name: name.to_owned(),
                values: DistinctCount::default().count(),
            };
            (component, DistinctCount::estimated())
        }));
        (template.clone(), first)
    }

    fn put(&mut self, kind: usize, keys: KindKeys) {
        if self.by_kind.len() <= kind {
            self.by_kind.resize(kind + 1, None);
        }
        self.by_kind[kind] = Some(keys);
    }

    /// Adds the keys of a row of that kind.
    pub fn add(&mut self, kind: usize, partition_key: &str, row_key: &str) {
        let Some(Some(keys)) = self.by_kind.get(kind) else { return };
        for ((template, first), key) in [(&keys.partition, partition_key), (&keys.row, row_key)] {
            for (at, text) in template.texts(key).enumerate() {
                let mut hasher = DefaultHasher::new();
                text.hash(&mut hasher);
                if let Some((_, values)) = self.tallies.get_mut(first + at) {
                    values.add(hasher.finish());
                }
            }
        }
    }

    /// The result, in the order of the templates, without components that no row has.
    pub fn finish(self) -> Vec<ComponentProfile> {
        let counted = |(component, values): (ComponentProfile, DistinctCount)| ComponentProfile {
            values: values.count(),
            ..component
        };
        let components = self.tallies.into_iter().map(counted);
        components.filter(|component| !component.values.is_none()).collect()
    }
}
