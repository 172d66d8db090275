//! Compares a stored row with the expected one, by values and not by text: stores may format numbers and
//! order properties in their own way.

use super::expected::ExpectedRow;
use super::finding::Problem;
use crate::codec::{Alias, rename};
use crate::entity::{DynamicEntity, read_row};
use crate::error::Result;
use crate::model::{Edm, HOME_TABLE};
use crate::property::{Declared, is_chunk};
use crate::repo::maintenance::MaintainedType;
use std::collections::BTreeMap;

/// The fault of `stored`; `None` when it equals the expected row. The property that a store adds for
/// itself, `hidden`, is no difference, and a property with its default equals one that is absent. The value of
/// an alias is that of its property.
pub(crate) fn differences(
    of: &'static MaintainedType,
    row: &ExpectedRow,
    stored: &[u8],
    hidden: Option<&str>,
) -> Result<Option<Problem>> {
    let reads_without = |names: &[String]| {
        // No entity is read from it, but it says whose row it is.
        if names.iter().any(|name| name == HOME_TABLE) {
            return false;
        }
        let mut expected = read_row::<DynamicEntity>(0, &row.body).unwrap_or_default().properties;
        expected.retain(|name, _| !names.contains(name));
        row.is_read_from(of, expected)
    };
    problem(&row.body, stored, (hidden, of.aliases, of.properties), &reads_without)
}

/// Whether `stored` has just the properties of `expected`, with their types: nothing is left out for being
/// a default.
pub(crate) fn has_form_of(expected: &[u8], stored: &[u8], hidden: Option<&str>) -> bool {
    problem(expected, stored, (hidden, &[], &[]), &|_| false).is_ok_and(|problem| problem.is_none())
}

/// The fault of `stored`. `reads_without` says whether an entity is read the same without these properties.
fn problem(
    expected: &[u8],
    stored: &[u8],
    (hidden, aliases, declared): (Option<&str>, &[Alias], &[Declared]),
    reads_without: &dyn Fn(&[String]) -> bool,
) -> Result<Option<Problem>> {
    let expected = visible(read_row::<DynamicEntity>(0, expected)?.properties, hidden);
    // A value that does not match its stated type differs from every value.
    let stored = read_row::<DynamicEntity>(0, stored);
    let stored = match stored {
        Ok(mut stored) => {
            rename(&mut stored.properties, aliases);
            visible(stored.properties, hidden)
        }
        Err(_) => {
            return Ok(Some(Problem::Stale { properties: expected.into_keys().collect() }));
        }
    };
    let mut extra = absent(&stored, &expected);
    extra.retain(|name| !is_chunk(declared, name));
    let lacking = without_defaults(absent(&expected, &stored), reads_without);
    let differing = expected
        .iter()
        .filter(|(name, value)| stored.get(*name).is_some_and(|stored| !same(value, stored)))
        .map(|(name, _)| name.clone())
        .collect::<Vec<_>>();
    Ok(match (extra.is_empty() && lacking.is_empty(), differing.is_empty()) {
        (true, true) => None,
        (true, false) => Some(Problem::Stale { properties: differing }),
        (false, _) => Some(Problem::WrongProjection { lacking, extra, differing }),
    })
}

fn visible(mut properties: BTreeMap<String, Edm>, hidden: Option<&str>) -> BTreeMap<String, Edm> {
    hidden.map(|name| properties.remove(name));
    properties
}

/// Those of the lacking properties that an entity is not read the same without.
fn without_defaults(
    lacking: Vec<String>,
    reads_without: &dyn Fn(&[String]) -> bool,
) -> Vec<String> {
    if lacking.is_empty() {
        return lacking;
    }
    let (defaults, others): (Vec<_>, Vec<_>) =
        lacking.iter().cloned().partition(|name| reads_without(std::slice::from_ref(name)));
    // Several defaults may be all of a group that is optional.
    if defaults.len() < 2 || reads_without(&defaults) { others } else { lacking }
}

/// The names of `from` that `among` does not have.
fn absent(from: &BTreeMap<String, Edm>, among: &BTreeMap<String, Edm>) -> Vec<String> {
    from.keys().filter(|name| !among.contains_key(*name)).cloned().collect()
}

/// Whether a value is stored in the form of the expected one.
fn same(expected: &Edm, stored: &Edm) -> bool {
    match (expected, stored) {
        (Edm::Double(expected), Edm::Double(stored)) => {
            expected == stored || expected.is_nan() && stored.is_nan()
        }
        // A store may write a whole number with neither the annotation nor the decimal point.
        (Edm::Double(expected), Edm::Int32(stored)) => *expected == f64::from(*stored),
        (Edm::Double(expected), Edm::Int64(stored)) => *expected == *stored as f64,
        _ => expected == stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EdmType;

    const DECLARED: &[Declared] = &[Declared::Chunked("Photo", EdmType::Binary)];

    fn problem(expected: &str, stored: &str) -> Option<Problem> {
        let row = |members: &str| format!(r#"{{"PartitionKey":"p","RowKey":"r"{members}}}"#);
        let (expected, stored) = (row(expected), row(stored));
        let context = (Some("Hidden"), &[][..], DECLARED);
        super::problem(expected.as_bytes(), stored.as_bytes(), context, &|_| false).unwrap()
    }

    #[test]
    fn what_a_store_formats_its_own_way_is_no_difference() {
        let expected = r#","A":1,"B":2.0,"B@odata.type":"Edm.Double","C":"NaN","C@odata.type":"Edm.Double","D":"5","D@odata.type":"Edm.Int64","T":"2011-11-06T09:10:00.0000000Z","T@odata.type":"Edm.DateTime""#;
        let stored = r#","T@odata.type":"Edm.DateTime","T":"2011-11-06T09:10:00Z","D@odata.type":"Edm.Int64","D":"5","C@odata.type":"Edm.Double","C":"NaN","B":2,"A":1,"odata.etag":"x","E":null"#;
        assert_eq!(problem(expected, stored), None);
    }

    #[test]
    fn a_chunk_behind_the_end_of_a_value_is_no_difference() {
        let expected = r#","Photo":1,"Photo00":"x""#;
        assert_eq!(problem(expected, r#","Photo":1,"Photo00":"x","Photo01":"y""#), None);
        assert!(problem(expected, r#","Photo":1,"Photo00":"x","Photo17":"y""#).is_some());
    }

    #[test]
    fn other_values_types_and_names_are_differences() {
        let stale = |name: &str| Some(Problem::Stale { properties: vec![name.to_owned()] });
        assert_eq!(problem(r#","A":1"#, r#","A":2"#), stale("A"));
        assert_eq!(problem(r#","A":1"#, r#","A":"1""#), stale("A"));
        assert_eq!(problem(r#","A":1"#, r#","A":"x","A@odata.type":"Edm.Guid""#), stale("A"));
        let wrong = Problem::WrongProjection {
            lacking: vec!["A".to_owned()],
            extra: vec!["C".to_owned()],
            differing: vec!["B".to_owned()],
        };
        assert_eq!(problem(r#","A":1,"B":1"#, r#","B":2,"C":3"#), Some(wrong));
    }
}
