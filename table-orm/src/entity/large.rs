//! A type with large values, whose bytes are outside its entities' rows.

use super::TableEntity;
use super::query::is_canonical_key;
use crate::codec::members_by_name;
use crate::property::Reference;

/// A type with large values, which is not known any more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LargeType {
    /// Its name.
    pub entity: &'static str,
    properties: &'static [&'static str],
    is_canonical: fn(&str) -> bool,
}

impl LargeType {
    /// `None` for a type without such values.
    pub const fn of<E: TableEntity>() -> Option<Self> {
        if E::OVERFLOW.is_empty() {
            return None;
        }
        let is_canonical = is_canonical_key::<E>;
        Some(Self { entity: E::NAME, properties: E::OVERFLOW, is_canonical })
    }

    /// Whether the key is one of the type's canonical rows.
    pub fn is_canonical(&self, row_key: &str) -> bool {
        (self.is_canonical)(row_key)
    }

    /// The values that the type's properties refer to in a row's JSON object.
    pub fn references(&self, row: &[u8]) -> Vec<Reference> {
        let members = members_by_name(row).unwrap_or_default();
        let texts = self.properties.iter().filter_map(|name| members.get(*name));
        let text = |json: &&str| serde_json::from_str::<String>(json).ok();
        texts.filter_map(text).filter_map(|text| Reference::parse(&text)).collect()
    }
}

/// Whether entities of the type have large values.
pub(crate) const fn has_large<E: TableEntity>() -> bool {
    !E::OVERFLOW.is_empty()
}

/// Whether a row's JSON object refers to the value, in whatever property: another version of the type may have
/// other names for its properties, and more of them.
pub(crate) fn refers_to(row: &[u8], id: &str) -> bool {
    let members = members_by_name(row).unwrap_or_default();
    let mut texts = members.values().filter_map(|json| serde_json::from_str::<String>(json).ok());
    texts.any(|text| Reference::parse(&text).is_some_and(|reference| reference.id == id))
}
