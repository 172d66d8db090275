//! Compares a stored row with the expected one, by values and not by text: stores may format numbers and
//! order properties in their own way.

use super::finding::Problem;
use crate::entity::{DynamicEntity, read_row};
use crate::error::Result;
use crate::model::Edm;
use std::collections::BTreeMap;

/// The fault of `stored`; `None` when it equals `expected`. The property that a store adds for itself,
/// `hidden`, is no difference.
pub(crate) fn differences(
    expected: &[u8],
    stored: &[u8],
    hidden: Option<&str>,
) -> Result<Option<Problem>> {
    let visible = |mut properties: BTreeMap<String, Edm>| {
        hidden.map(|name| properties.remove(name));
        properties
    };
    let expected = visible(read_row::<DynamicEntity>(0, expected)?.properties);
    // A value that does not match its stated type differs from every value.
    let stored = read_row::<DynamicEntity>(0, stored);
    let stored = match stored {
        Ok(stored) => visible(stored.properties),
        Err(_) => {
            return Ok(Some(Problem::Stale { properties: expected.into_keys().collect() }));
        }
    };
    let extra: Vec<_> = absent(&stored, &expected);
    let lacking: Vec<_> = absent(&expected, &stored);
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

/// The names of `from` that `among` does not have.
fn absent(from: &BTreeMap<String, Edm>, among: &BTreeMap<String, Edm>) -> Vec<String> {
    from.keys().filter(|name| !among.contains_key(*name)).cloned().collect()
}

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

    fn problem(expected: &str, stored: &str) -> Option<Problem> {
        let row = |members: &str| format!(r#"{{"PartitionKey":"p","RowKey":"r"{members}}}"#);
        differences(row(expected).as_bytes(), row(stored).as_bytes(), Some("Hidden")).unwrap()
    }

    #[test]
    fn what_a_store_formats_its_own_way_is_no_difference() {
        let expected = r#","A":1,"B":2.0,"B@odata.type":"Edm.Double","C":"NaN","C@odata.type":"Edm.Double","D":"5","D@odata.type":"Edm.Int64","T":"2011-11-06T09:10:00.0000000Z","T@odata.type":"Edm.DateTime""#;
        let stored = r#","T@odata.type":"Edm.DateTime","T":"2011-11-06T09:10:00Z","D@odata.type":"Edm.Int64","D":"5","C@odata.type":"Edm.Double","C":"NaN","B":2,"A":1,"odata.etag":"x","E":null"#;
        assert_eq!(problem(expected, stored), None);
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
