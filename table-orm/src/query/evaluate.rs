//! Evaluation of a filter.
//!
//! Invariant: the logic has three values. `None` is unknown, as a comparison with a property that is
//! missing is, and neither a condition nor its negation is true while it is unknown.

use super::filter::{Comparison, Filter};
use crate::model::Edm;

impl Filter {
    /// Evaluates the condition; `None` is unknown. `compare` evaluates one comparison of a property
    /// with a value.
    pub fn evaluate(
        &self,
        compare: &mut impl FnMut(&str, Comparison, &Edm) -> Option<bool>,
    ) -> Option<bool> {
        match self {
            Self::Compare { property, comparison, value } => compare(property, *comparison, value),
            Self::And(left, right) => match (left.evaluate(compare), right.evaluate(compare)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(left, right) => match (left.evaluate(compare), right.evaluate(compare)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Self::Not(inner) => inner.evaluate(compare).map(|verdict| !verdict),
        }
    }
}
