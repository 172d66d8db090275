//! Evaluation of a filter on one stored row.
//!
//! Invariant: a comparison with a property that is missing or of another type is false, so that its
//! negation is true, as in the service (azure-storage-net issue 696, Azurite issue 1929). The service's own
//! pages on queries ask for a constant of the property's type, and are silent about missing properties.

use super::members::RowMembers;
use super::value::StoredValue;
use crate::model::{Edm, EdmType, TIMESTAMP};
use crate::query::{Comparison, Filter};

/// A row whose properties can be compared.
pub(crate) trait Properties {
    /// Returns a property; `None` when it is missing.
    fn property(&self, name: &str) -> Option<StoredValue<'_>>;
}

impl Properties for RowMembers<'_> {
    fn property(&self, name: &str) -> Option<StoredValue<'_>> {
        let stored = self.get(name)?;
        if name == TIMESTAMP {
            StoredValue::parse(stored, EdmType::DateTime)
        } else {
            StoredValue::read(stored, self.annotation(name)).ok()
        }
    }
}

/// Returns whether the filter is true for the row.
pub(crate) fn matches(filter: &Filter, row: &impl Properties) -> bool {
    filter.evaluate(&mut |property, comparison, value| {
        compare(row, property, comparison, value).unwrap_or(false)
    })
}

/// Compares a property; `None` when it is missing or of another type.
fn compare(row: &impl Properties, name: &str, comparison: Comparison, value: &Edm) -> Option<bool> {
    let property = row.property(name)?;
    let same_type = property.edm_type() == value.edm_type();
    same_type.then(|| comparison.holds(property.compare(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};

    const ROW: &str = r#"{"Timestamp":"2020-01-02T03:04:05.0000000Z","PartitionKey":"p","RowKey":"r",
        "S":"\ud83c\udfc3","I":5,"L":"5","L@odata.type":"Edm.Int64","D":5,"D@odata.type":"Edm.Double",
        "F":0.5,"N":"NaN","N@odata.type":"Edm.Double","T":true,
        "W":"2011-11-06T09:10:00Z","W@odata.type":"Edm.DateTime",
        "G":"0F8FAD5B-d9cb-469f-a165-70867728950e","G@odata.type":"Edm.Guid",
        "B":"AAE=","B@odata.type":"Edm.Binary"}"#;

    fn holds(name: &'static str, comparison: Comparison, value: impl Into<Edm>) -> Option<bool> {
        let members = RowMembers::read(ROW).unwrap();
        compare(&members, name, comparison, &value.into())
    }

    #[test]
    fn every_type_compares_with_itself() {
        let guid = uuid::Uuid::parse_str("0f8fad5b-d9cb-469f-a165-70867728950e").unwrap();
        let when: crate::model::DateTime = "2011-11-06T09:10:00.0Z".parse().unwrap();
        let stamp: crate::model::DateTime = "2020-01-02T03:04:05Z".parse().unwrap();
        assert_eq!(holds("S", Less, "\u{E000}"), Some(true), "UTF-16 order");
        assert_eq!(holds("I", Equal, 5), Some(true));
        assert_eq!(holds("L", GreaterOrEqual, 6_i64), Some(false));
        assert_eq!(holds("D", LessOrEqual, 5.0), Some(true));
        assert_eq!(holds("F", Less, 0.75), Some(true));
        assert_eq!(holds("T", Greater, false), Some(true));
        assert_eq!(holds("W", Equal, when), Some(true));
        assert_eq!(holds("G", Equal, guid), Some(true));
        assert_eq!(holds("B", Greater, vec![0_u8]), Some(true));
        assert_eq!(holds("B", NotEqual, vec![0_u8, 1]), Some(false));
        assert_eq!(holds("PartitionKey", Equal, "p"), Some(true));
        assert_eq!(holds("RowKey", Greater, "q"), Some(true));
        assert_eq!(holds("Timestamp", Equal, stamp), Some(true));
    }

    #[test]
    fn nan_differs_from_every_number() {
        assert_eq!(holds("N", Equal, f64::NAN), Some(false));
        assert_eq!(holds("N", NotEqual, 5.0), Some(true));
        assert_eq!(holds("D", Less, f64::NAN), Some(false));
    }

    #[test]
    fn a_comparison_with_an_absent_or_differently_typed_property_is_false() {
        let members = RowMembers::read(ROW).unwrap();
        for (name, value) in [
            ("Absent", Edm::from(5)),
            ("I", Edm::from(5_i64)),
            ("I", Edm::from("5")),
            ("D", Edm::from(5)),
        ] {
            for comparison in [Equal, NotEqual, Less] {
                assert_eq!(holds(name, comparison, value.clone()), None, "{name}");
            }
            let not_there = || Filter::compare(name, Equal, value.clone());
            let yes = || Filter::compare("I", Equal, 5);
            assert!(!matches(&not_there(), &members));
            assert!(matches(&!not_there(), &members));
            assert!(!matches(&not_there().and(yes()), &members));
            assert!(matches(&(!not_there()).and(yes()), &members));
            assert!(matches(&yes().or(not_there()), &members));
            assert!(!matches(&not_there().or(!yes()), &members));
        }
    }
}
