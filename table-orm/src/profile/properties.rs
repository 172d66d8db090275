//! What is stored under each property name.
//!
//! Invariant: at most [`MOST_NAMES`] names are kept, each with a bounded count of values, so that a table whose
//! names are data takes no more memory than another. Values under other names are counted together.

use super::distinct::DistinctCount;
use super::report::PropertyProfile;
use crate::model::{Edm, EdmType, Printable, order, property_size};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The most names that are counted each by itself: twice as many as one entity can have.
const MOST_NAMES: usize = 504;
/// The most characters of a constant value that are kept.
const SHOWN: usize = 40;

/// The properties so far.
#[derive(Debug, Default)]
pub(super) struct Properties {
    by_name: HashMap<String, PropertyTally>,
    /// The values under names that are not kept.
    pub others: u64,
    /// The bytes of the names.
    pub name_bytes: u64,
}

#[derive(Debug, Default)]
struct PropertyTally {
    rows: u64,
    bytes: u64,
    largest: u64,
    /// In rows of entities, and in helper rows: these may have properties of the same names.
    types: [Vec<EdmType>; 2],
    values: DistinctCount,
    /// The start of the first value.
    first: String,
    /// How many rows of each kind have it.
    by_kind: Vec<u64>,
}

impl Properties {
    /// Adds a property of a row of that kind, which may be one of helper rows. Returns its bytes.
    pub fn add(&mut self, name: &str, value: &Edm, (kind, is_helper): (usize, bool)) -> usize {
        let size = property_size(name, value.size());
        let bytes = size as u64;
        self.name_bytes += 2 * order::len(name) as u64;
        if let Some(tally) = self.by_name.get_mut(name) {
            tally.add(value, bytes, (kind, is_helper));
        } else if self.by_name.len() < MOST_NAMES {
            let mut tally = PropertyTally { first: start(value), ..PropertyTally::default() };
            tally.add(value, bytes, (kind, is_helper));
            self.by_name.insert(name.to_owned(), tally);
        } else {
            self.others += 1;
        }
        size
    }

    /// How many names are kept.
    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.by_name.len()
    }

    /// The result, by the rows of each kind and what types declare: the properties with most bytes first.
    pub fn finish(
        self,
        rows_of_kind: &[u64],
        is_declared: impl Fn(&str) -> bool,
    ) -> Vec<PropertyProfile> {
        let profile = |(name, tally): (String, PropertyTally)| {
            let kinds = tally.by_kind.iter().zip(rows_of_kind);
            let of_rows = kinds.filter(|(has, _)| **has > 0).map(|(_, rows)| rows).sum();
            let types = tally.types.iter().find(|types| !types.is_empty()).into_iter().flatten();
            let mut types: Vec<_> = types.map(|edm| edm.name().to_owned()).collect();
            types.sort_unstable();
            let values = tally.values.count();
            let constant = values.is_one().then_some(tally.first);
            let (rows, bytes, largest) = (tally.rows, tally.bytes, tally.largest);
            let is_declared = is_declared(&name);
            PropertyProfile {
                name,
                is_declared,
                rows,
                of_rows,
                bytes,
                largest,
                types,
                values,
                constant,
            }
        };
        let mut profiles: Vec<_> = self.by_name.into_iter().map(profile).collect();
        profiles.sort_by(|one, next| next.bytes.cmp(&one.bytes).then(one.name.cmp(&next.name)));
        profiles
    }
}

impl PropertyTally {
    fn add(&mut self, value: &Edm, bytes: u64, (kind, is_helper): (usize, bool)) {
        self.rows += 1;
        self.bytes += bytes;
        self.largest = self.largest.max(bytes);
        let (edm, types) = (value.edm_type(), &mut self.types[usize::from(is_helper)]);
        if !types.contains(&edm) {
            types.push(edm);
        }
        if !self.values.is_over() {
            self.values.add(hash(value));
        }
        if self.by_kind.len() <= kind {
            self.by_kind.resize(kind + 1, 0);
        }
        self.by_kind[kind] += 1;
    }
}

/// The hash of a value with its type, the same in every run.
fn hash(value: &Edm) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.edm_type().hash(&mut hasher);
    match value {
        Edm::String(text) => text.hash(&mut hasher),
        Edm::Int32(number) => number.hash(&mut hasher),
        Edm::Int64(number) => number.hash(&mut hasher),
        Edm::Double(number) => number.to_bits().hash(&mut hasher),
        Edm::Boolean(truth) => truth.hash(&mut hasher),
        Edm::DateTime(instant) => instant.hash(&mut hasher),
        Edm::Guid(id) => id.hash(&mut hasher),
        Edm::Binary(bytes) => bytes.hash(&mut hasher),
    }
    hasher.finish()
}

/// The start of a value as a filter has it.
fn start(value: &Edm) -> String {
    let cut = match value {
        Edm::String(text) => Edm::String(text.chars().take(SHOWN).collect()),
        Edm::Binary(bytes) => Edm::Binary(bytes.iter().copied().take(SHOWN / 2).collect()),
        value => value.clone(),
    };
    let is_cut = cut.size() < value.size();
    format!("{}{}", Printable(cut), if is_cut { ".." } else { "" })
}
