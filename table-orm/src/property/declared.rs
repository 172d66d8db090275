//! The properties that a type declares, with those of the groups it flattens: checked at compile
//! time, compared with the open properties that are written beside them, and listed in a schema.

use super::slots::{CHUNKS, Slots, is_slot};
use super::{Limit, PropertiesWriter, Property, PropertyError, PropertyFault};
use crate::codec::Alias;
use crate::model::{EdmType, MAX_PROPERTIES, Metadata, RESERVED_PROPERTIES, is_same};

/// The values that a property can have, as far as its type says.
#[derive(Debug, Clone, Copy)]
pub struct ValueType {
    /// The EDM type of every stored value, where all have one.
    pub edm: Option<EdmType>,
    /// All texts that it can store, where these are codes; else empty.
    pub codes: &'static [&'static str],
}

impl ValueType {
    /// Any value.
    pub const ANY: Self = Self { edm: None, codes: &[] };

    /// The values of a property's type.
    #[must_use]
    pub const fn of<T: Property>() -> Self {
        Self { edm: T::TYPE, codes: T::CODES }
    }
}

/// The properties of one field.
#[derive(Debug, Clone, Copy)]
pub enum Declared {
    /// One of that name.
    One(&'static str, ValueType, Option<Limit>),
    /// Numbered ones.
    Series(&'static str, Slots, ValueType),
    /// One value in numbered properties, with its length under the name.
    Chunked(&'static str, EdmType),
    /// Those of a flattened struct.
    Group(&'static str, &'static [Self]),
    /// Any that no other field has. Only annotations state their types.
    Open,
}

impl Declared {
    /// Returns the same property, whose field has a limit.
    #[must_use]
    pub const fn limit(self, limit: Limit) -> Self {
        match self {
            Self::One(name, values, _) => Self::One(name, values, Some(limit)),
            other => other,
        }
    }
}

/// Whether one of these declares that property, whether or not it has a value.
pub(crate) fn declares(declared: &[Declared], property: &str) -> bool {
    declared.iter().any(|declared| match declared {
        Declared::One(name, ..) => *name == property,
        Declared::Series(series, slots, _) => is_slot(property, series, *slots),
        Declared::Chunked(name, _) => *name == property || is_slot(property, name, CHUNKS),
        Declared::Group(_, group) => declares(group, property),
        Declared::Open => false,
    })
}

impl PropertiesWriter {
    /// Checks that no open property has the name of a declared one, or of one that table-orm marks
    /// rows with: a reader would take it for that one.
    ///
    /// # Errors
    /// When an open property has such a name: [`PropertyFault::Duplicate`].
    #[doc(hidden)]
    pub fn check_open(&self, declared: &[Declared]) -> Result<(), PropertyError> {
        let taken = |name: &&str| declares(declared, name) || RESERVED_PROPERTIES.contains(name);
        match self.open_names().find(taken) {
            Some(name) => Err(self.error(name, PropertyFault::Duplicate)),
            None => Ok(()),
        }
    }
}

/// Whether that property is a chunk of a value. A merge of a shorter value leaves chunks that nobody
/// reads.
pub(crate) fn is_chunk(declared: &[Declared], property: &str) -> bool {
    declared.iter().any(|declared| match declared {
        Declared::Chunked(name, _) => is_slot(property, name, CHUNKS),
        Declared::Group(_, group) => is_chunk(group, property),
        _ => false,
    })
}

/// The metadata that a query must ask for, so that values of these properties keep their types.
pub const fn metadata(declared: &[Declared]) -> Metadata {
    let mut at = 0;
    while at < declared.len() {
        let metadata = match declared[at] {
            Declared::Open => Metadata::Minimal,
            Declared::Group(_, group) => metadata(group),
            Declared::One(..) | Declared::Series(..) | Declared::Chunked(..) => Metadata::None,
        };
        if matches!(metadata, Metadata::Minimal) {
            return metadata;
        }
        at += 1;
    }
    Metadata::None
}

/// Fails to compile when there are more properties than a row can have, or two of one name.
#[track_caller]
pub const fn assert_properties(declared: &[Declared]) {
    assert!(
        count(declared) <= MAX_PROPERTIES,
        "a row has more than 252 properties, counting those of its groups and series; store some \
         as one `#[table(json)]` property, or in another entity"
    );
    let repeated = repeated(declared, declared);
    let name = if let Some(name) = repeated { name } else { "" };
    let message = Message::new("two fields are stored as `").and(name);
    let message = message.and("`; rename one of them: `#[table(rename = \"..\")]`");
    assert!(repeated.is_none(), "{}", message.text());
}

/// Checks that no former name of a property is the name of another one, such as of a flattened struct.
///
/// # Panics
/// When one is: at compile time.
#[track_caller]
pub const fn assert_aliases(aliases: &[Alias], declared: &[Declared]) {
    let mut at = 0;
    while at < aliases.len() {
        let (former, _) = aliases[at];
        let message = Message::new("alias `").and(former);
        let message = message.and("` is the name of another property of the row; remove it");
        let taken = clashes(&Declared::One(former, ValueType::ANY, None), declared);
        assert!(taken == 0, "{}", message.text());
        at += 1;
    }
}

const fn count(declared: &[Declared]) -> usize {
    let mut properties = 0;
    let mut at = 0;
    while at < declared.len() {
        properties += match declared[at] {
            Declared::One(..) => 1,
            Declared::Series(_, Slots::Fixed(slots), _) => slots,
            Declared::Series(_, Slots::Ring(slots, _), _) => 2 * slots,
            Declared::Series(_, Slots::UpTo(_), _) | Declared::Chunked(..) | Declared::Open => 0,
            Declared::Group(_, group) => count(group),
        };
        at += 1;
    }
    properties
}

/// The first name of `some` that `all` has twice.
const fn repeated(some: &[Declared], all: &[Declared]) -> Option<&'static str> {
    let mut at = 0;
    while at < some.len() {
        let name = match some[at] {
            Declared::One(name, ..) | Declared::Series(name, ..) | Declared::Chunked(name, ..) => {
                if clashes(&some[at], all) > 1 {
                    Some(name)
                } else {
                    None
                }
            }
            Declared::Group(_, group) => repeated(group, all),
            Declared::Open => None,
        };
        if name.is_some() {
            return name;
        }
        at += 1;
    }
    None
}

/// How often `all` has a field's properties, the field itself included.
const fn clashes(own: &Declared, all: &[Declared]) -> usize {
    let mut times = 0;
    let mut at = 0;
    while at < all.len() {
        times += match (own, &all[at]) {
            (_, Declared::Group(_, group)) => clashes(own, group),
            (Declared::One(left, ..), Declared::One(right, ..)) => is_same(left, right) as usize,
            (Declared::One(one, ..), Declared::Series(series, slots, _))
            | (Declared::Series(series, slots, _), Declared::One(one, ..)) => {
                is_slot(one, series, *slots) as usize
            }
            (Declared::Series(left, some, _), Declared::Series(right, others, _)) => {
                (is_same(left, right) && some.digits() == others.digits()) as usize
            }
            (Declared::Chunked(name, _), other) => {
                let parts = [
                    Declared::One(name, ValueType::ANY, None),
                    Declared::Series(name, CHUNKS, ValueType::ANY),
                ];
                let other = std::slice::from_ref(other);
                let shared = clashes(&parts[0], other) + clashes(&parts[1], other);
                if shared > 1 { 1 } else { shared }
            }
            (other, Declared::Chunked(..)) => clashes(&all[at], std::slice::from_ref(other)),
            (Declared::Group(..) | Declared::Open, _) | (_, Declared::Open) => 0,
        };
        at += 1;
    }
    times
}

/// Text that a constant puts together.
struct Message {
    bytes: [u8; 1024],
    len: usize,
}

impl Message {
    const fn new(text: &str) -> Self {
        Self { bytes: [0; 1024], len: 0 }.and(text)
    }

    const fn and(mut self, text: &str) -> Self {
        let mut at = 0;
        while at < text.len() && self.len < self.bytes.len() {
            self.bytes[self.len] = text.as_bytes()[at];
            self.len += 1;
            at += 1;
        }
        self
    }

    const fn text(&self) -> &str {
        match str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "two fields are stored as one property",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slots::{Fixed, UpTo};
    use super::*;

    const ADDRESS: &[Declared] = &[one("Street"), one("City")];

    const fn one(name: &'static str) -> Declared {
        Declared::One(name, ValueType::ANY, None)
    }

    const fn series(name: &'static str, slots: Slots) -> Declared {
        Declared::Series(name, slots, ValueType::ANY)
    }

    const fn group(declared: &'static [Declared]) -> Declared {
        Declared::Group("", declared)
    }

    fn clash(declared: &[Declared]) -> Option<&'static str> {
        repeated(declared, declared)
    }

    #[test]
    fn properties_are_counted_through_groups_and_series() {
        let laps = series("Lap", Fixed(9));
        let open = series("Open", UpTo(252));
        let nested = [group(ADDRESS), laps, open, one("Age")];
        assert_eq!(count(&nested), 12);
        assert_eq!(clash(&nested), None);
    }

    #[test]
    fn a_repeated_name_is_found_in_groups_and_series() {
        assert_eq!(clash(&[one("City"), group(ADDRESS)]), Some("City"));
        assert_eq!(clash(&[group(ADDRESS), group(ADDRESS)]), Some("Street"));
        assert_eq!(clash(&[series("Lap", Fixed(9)), one("Lap08")]), Some("Lap"));
        assert_eq!(clash(&[series("Lap", Fixed(9)), series("Lap", Fixed(4))]), Some("Lap"));
        assert_eq!(clash(&[series("Lap", UpTo(252)), one("Lap008")]), Some("Lap"));
        for apart in ["Lap", "Lap09", "Lap8", "Lap008", "Laps8", "lap08"] {
            assert_eq!(clash(&[series("Lap", Fixed(9)), one(apart)]), None, "{apart}");
            assert!(!declares(&[series("Lap", Fixed(9))], apart), "{apart}");
        }
        let declared = [one("Age"), group(ADDRESS), series("Lap", Fixed(9))];
        for taken in ["Age", "City", "Lap00", "Lap08"] {
            assert!(declares(&declared, taken), "{taken}");
        }
    }
}
