//! The properties that a type declares, with those of the groups it flattens: checked at compile
//! time, and compared with the open properties that are written beside them.

use super::slots::{Slots, is_extended, is_slot};
use super::{PropertiesWriter, PropertyError, PropertyFault};
use crate::model::{MAX_PROPERTIES, Metadata, RESERVED_PROPERTIES};

/// The properties of one field.
#[derive(Debug, Clone, Copy)]
pub enum Declared {
    /// One of that name.
    One(&'static str),
    /// Numbered ones.
    Series(&'static str, Slots),
    /// Those of a flattened struct.
    Group(&'static [Self]),
    /// Any that no other field has. Only annotations state their types.
    Open,
}

/// Whether one of these declares that property, whether or not it has a value.
fn declares(declared: &[Declared], property: &str) -> bool {
    declared.iter().any(|declared| match declared {
        Declared::One(name) => *name == property,
        Declared::Series(series, slots) => is_slot(property, series, *slots),
        Declared::Group(group) => declares(group, property),
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

/// The metadata that a query must ask for, so that values of these properties keep their types.
pub const fn metadata(declared: &[Declared]) -> Metadata {
    let mut at = 0;
    while at < declared.len() {
        let metadata = match declared[at] {
            Declared::Open => Metadata::Minimal,
            Declared::Group(group) => metadata(group),
            Declared::One(_) | Declared::Series(..) => Metadata::None,
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

const fn count(declared: &[Declared]) -> usize {
    let mut properties = 0;
    let mut at = 0;
    while at < declared.len() {
        properties += match declared[at] {
            Declared::One(_) => 1,
            Declared::Series(_, Slots::Fixed(slots)) => slots,
            Declared::Series(_, Slots::UpTo(_)) | Declared::Open => 0,
            Declared::Group(group) => count(group),
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
            Declared::One(name) | Declared::Series(name, _) => {
                if clashes(&some[at], all) > 1 {
                    Some(name)
                } else {
                    None
                }
            }
            Declared::Group(group) => repeated(group, all),
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
            (_, Declared::Group(group)) => clashes(own, group),
            (Declared::One(left), Declared::One(right)) => is_extended(left, right, 0) as usize,
            (Declared::One(one), Declared::Series(series, slots))
            | (Declared::Series(series, slots), Declared::One(one)) => {
                is_slot(one, series, *slots) as usize
            }
            (Declared::Series(left, some), Declared::Series(right, others)) => {
                (is_extended(left, right, 0) && some.digits() == others.digits()) as usize
            }
            (Declared::Group(_) | Declared::Open, _) | (_, Declared::Open) => 0,
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

    const ADDRESS: &[Declared] = &[Declared::One("Street"), Declared::One("City")];

    fn clash(declared: &[Declared]) -> Option<&'static str> {
        repeated(declared, declared)
    }

    #[test]
    fn properties_are_counted_through_groups_and_series() {
        let laps = Declared::Series("Lap", Fixed(9));
        let open = Declared::Series("Open", UpTo(252));
        let nested = [Declared::Group(ADDRESS), laps, open, Declared::One("Age")];
        assert_eq!(count(&nested), 12);
        assert_eq!(clash(&nested), None);
    }

    #[test]
    fn a_repeated_name_is_found_in_groups_and_series() {
        use Declared::{Group, One, Series};
        assert_eq!(clash(&[One("City"), Group(ADDRESS)]), Some("City"));
        assert_eq!(clash(&[Group(ADDRESS), Group(ADDRESS)]), Some("Street"));
        assert_eq!(clash(&[Series("Lap", Fixed(9)), One("Lap08")]), Some("Lap"));
        assert_eq!(clash(&[Series("Lap", Fixed(9)), Series("Lap", Fixed(4))]), Some("Lap"));
        assert_eq!(clash(&[Series("Lap", UpTo(252)), One("Lap008")]), Some("Lap"));
        for apart in ["Lap", "Lap09", "Lap8", "Lap008", "Laps8", "lap08"] {
            assert_eq!(clash(&[Series("Lap", Fixed(9)), One(apart)]), None, "{apart}");
            assert!(!declares(&[Series("Lap", Fixed(9))], apart), "{apart}");
        }
        let declared = [One("Age"), Group(ADDRESS), Series("Lap", Fixed(9))];
        for taken in ["Age", "City", "Lap00", "Lap08"] {
            assert!(declares(&declared, taken), "{taken}");
        }
    }
}
