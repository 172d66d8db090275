//! Which kind of row a row is: by the types that the profile knows, else by how its RowKey begins.
//!
//! Invariant: each row is of one kind. A row of a known type is of the template that reads take it by. The
//! number of kinds is bounded by the templates of the types and [`MOST_SHAPES`].

use super::components::Components;
use super::known_type::KnownType;
use super::report::{KindProfile, RowRole};
use crate::codec::RowContext;
use crate::entity::DynamicEntity;
use crate::model::{
    DateTime, EXPIRY_START, Edm, KIND, MOVED_TO, PARCEL_START, TableName, reserved_start,
};
use std::borrow::Cow;
use std::collections::HashMap;

/// The most beginnings of RowKeys that are counted each by itself.
const MOST_SHAPES: usize = 60;
/// The most letters of a beginning that names a kind of row.
const MOST_LETTERS: usize = 24;

/// The kinds of rows so far.
pub(super) struct Kinds {
    /// Each with the place of the first of its kinds.
    types: Vec<(usize, KnownType)>,
    kinds: Vec<KindTally>,
    by_shape: HashMap<String, usize>,
}

/// A kind of row.
#[derive(Debug, Clone)]
pub(super) struct KindTally {
    entity: Option<String>,
    name: String,
    role: RowRole,
    /// Whether the report names it without rows, too.
    is_expected: bool,
    rows: u64,
    bytes: u64,
    oldest: Option<DateTime>,
}

impl KindTally {
    fn new(name: &str, role: RowRole) -> Self {
        let name = name.to_owned();
        Self { entity: None, name, role, is_expected: false, rows: 0, bytes: 0, oldest: None }
    }

    /// A kind of a known type.
    fn of(known: &KnownType, name: &str, role: RowRole) -> Self {
        Self { entity: Some(known.name.clone()), ..Self::new(name, role) }
    }
}

impl Kinds {
    /// The kinds of rows of those types in a table.
    pub fn new(types: Vec<KnownType>, table: &TableName) -> Self {
        let mut all = Self { types: Vec::new(), kinds: Vec::new(), by_shape: HashMap::new() };
        for known in types {
            let first = all.kinds.len();
            all.kinds.extend(known.rows.iter().map(|row| KindTally {
                is_expected: known.is_in(row, table),
                ..KindTally::of(&known, &row.name, row.role)
            }));
            all.kinds.push(KindTally::of(&known, "moved", RowRole::Moved));
            all.types.push((first, known));
        }
        all
    }

    /// Whether one of the types declares a property of that name.
    pub fn declare_property(&self, name: &str) -> bool {
        self.types.iter().any(|(_, known)| known.declares_property(name))
    }

    /// The components of the keys of the types.
    pub fn components(&self) -> Components {
        let mut components = Components::default();
        self.types.iter().for_each(|(first, known)| components.know(known, *first));
        components
    }

    /// The place of the kind of a row.
    pub fn find(&mut self, row: &DynamicEntity, table: &TableName) -> usize {
        let context = context(row);
        let known =
            |(first, known): &(usize, KnownType)| Some(first + known.find(&context, table)?);
        if let Some(kind) = self.types.iter().find_map(known) {
            return kind;
        }
        let (role, mut shape) = match reserved_start(&row.row_key) {
            // The next number and the lease stay: they are no work that is left.
            Some("OUT:") if row.row_key.starts_with("OUT:-") => (RowRole::OutboxState, "OUT:-"),
            Some(start) => (helper(start), start),
            None => (RowRole::Other, shape(&row.row_key)),
        };
        if let Some(kind) = self.by_shape.get(shape) {
            return *kind;
        }
        if self.by_shape.len() >= MOST_SHAPES && role == RowRole::Other {
            shape = "(others)";
            if let Some(kind) = self.by_shape.get(shape) {
                return *kind;
            }
        }
        self.kinds.push(KindTally::new(shape, role));
        self.by_shape.insert(shape.to_owned(), self.kinds.len() - 1);
        self.kinds.len() - 1
    }

    /// Adds a row to its kind.
    pub fn add(&mut self, kind: usize, bytes: u64, written: Option<DateTime>) {
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        kind.rows += 1;
        kind.bytes += bytes;
        kind.oldest = kind.oldest.into_iter().chain(written).min();
    }

    /// Whether rows of a kind only serve the rows of entities.
    pub fn is_helper(&self, kind: usize) -> bool {
        self.kinds.get(kind).is_some_and(|kind| kind.role.is_helper())
    }

    /// How many rows there are of each kind.
    pub fn rows(&self) -> Vec<u64> {
        self.kinds.iter().map(|kind| kind.rows).collect()
    }

    /// The result: the kinds of each known type in the order of its templates, then the others, those with
    /// most rows first.
    pub fn finish(self) -> Vec<KindProfile> {
        let mut kinds = self.kinds;
        kinds.retain(|kind| kind.rows > 0 || kind.is_expected);
        let profile = |kind: KindTally| KindProfile {
            entity: kind.entity,
            name: kind.name,
            role: kind.role,
            rows: kind.rows,
            bytes: kind.bytes,
            oldest: kind.oldest.map(|oldest| oldest.to_string()),
        };
        let mut profiles: Vec<_> = kinds.into_iter().map(profile).collect();
        let known = profiles.iter().take_while(|kind| kind.entity.is_some()).count();
        profiles[known..]
            .sort_by(|one, next| next.rows.cmp(&one.rows).then(one.name.cmp(&next.name)));
        profiles
    }
}

fn context(row: &DynamicEntity) -> RowContext<'_> {
    let mark = |name| {
        row.properties.get(name).map(|value| match value {
            Edm::String(text) => Cow::Borrowed(text.as_str()),
            _ => Cow::Borrowed(""),
        })
    };
    RowContext {
        partition_key: Cow::Borrowed(&row.partition_key),
        row_key: Cow::Borrowed(&row.row_key),
        moved_to: mark(MOVED_TO),
        kind: mark(KIND).unwrap_or_default(),
        ..RowContext::new("row")
    }
}

/// The part of a helper row, by the reserved beginning of its RowKey.
fn helper(start: &str) -> RowRole {
    match start {
        "LOB:" => RowRole::LargeValue,
        "DUE:" => RowRole::Intent,
        "TKT:" => RowRole::Ticket,
        "OUT:" => RowRole::Event,
        "SUM:" => RowRole::Total,
        "SEQ:" => RowRole::Sequence,
        PARCEL_START => RowRole::Moved,
        EXPIRY_START => RowRole::Eventual,
        _ => RowRole::Guard,
    }
}

/// How a RowKey begins: its letters up to the first character that is neither letter nor digit, or what it
/// consists of.
fn shape(row_key: &str) -> &str {
    let is_guid = || uuid::Uuid::try_parse(row_key).is_ok();
    let end = row_key.find(|c: char| !c.is_alphanumeric()).unwrap_or(row_key.len());
    let (word, rest) = row_key.split_at(end);
    let named = word.chars().count() <= MOST_LETTERS && word.chars().all(char::is_alphabetic);
    if row_key.is_empty() {
        "(empty)"
    } else if row_key.chars().all(|c| c.is_ascii_digit()) {
        "(digits)"
    } else if is_guid() {
        "(GUID)"
    } else if let Some(separator) = rest.chars().next()
        && named
    {
        &row_key[..end + separator.len_utf8()]
    } else if word.starts_with(|c: char| c.is_ascii_digit()) {
        "(digits..)"
    } else {
        "(text)"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_key_is_named_by_how_it_begins() {
        for (row_key, name) in [
            ("BIB:01234__John", "BIB:"),
            ("OrderLine_7", "OrderLine_"),
            ("_meta", "_"),
            ("", "(empty)"),
            ("00042", "(digits)"),
            ("2014-04-21", "(digits..)"),
            ("7f1b6c9e-0f0a-4c55-8f3b-0d5f6a3f2b10", "(GUID)"),
            ("7f1b6c9e0f0a4c558f3b0d5f6a3f2b10", "(GUID)"),
            ("John", "(text)"),
            ("a1-b", "(text)"),
        ] {
            assert_eq!(shape(row_key), name, "{row_key}");
        }
    }

    #[test]
    fn names_in_keys_do_not_become_ever_more_kinds() {
        let table = TableName::new("things").unwrap();
        let mut kinds = Kinds::new(Vec::new(), &table);
        let name = |number: u32| {
            (0..4).map(move |digit| char::from(b'a' + (number >> (4 * digit) & 15) as u8))
        };
        for number in 0..5000 {
            let row_key = format!("{}:1", name(number).collect::<String>());
            let kind = kinds.find(&DynamicEntity::new("p", row_key), &table);
            kinds.add(kind, 10, None);
        }
        let found = kinds.finish();
        assert_eq!(found.len(), MOST_SHAPES + 1);
        assert_eq!(
            (found[0].name.as_str(), found[0].rows),
            ("(others)", 5000 - MOST_SHAPES as u64)
        );
    }
}
