//! What a type's properties must keep, checked at compile time: their number, and a name of its own for each.

use super::declared::{Declared, ValueType};
use super::slots::{CHUNKS, Slots, is_slot};
use crate::codec::Alias;
use crate::model::{ConstMessage, MAX_PROPERTIES, is_same};

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
    let message = ConstMessage::new("two fields are stored as `").and(name);
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
        let message = ConstMessage::new("alias `").and(former);
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

#[cfg(test)]
mod tests {
    use super::Slots::{Fixed, UpTo};
    use super::*;
    use crate::property::declares;

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
