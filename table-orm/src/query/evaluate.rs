//! Evaluation of a filter.
//!
//! Invariant: each comparison is true or false, so exactly one of a condition and its negation is true.

use super::filter::{Comparison, Filter};
use crate::model::Edm;

impl Filter {
    /// Evaluates the condition. `compare` evaluates one comparison of a property with a value; the service
    /// takes one with a property that is missing or of another type as false.
    pub fn evaluate(&self, compare: &mut impl FnMut(&str, Comparison, &Edm) -> bool) -> bool {
        match self {
            Self::Compare { property, comparison, value } => compare(property, *comparison, value),
            Self::And(left, right) => left.evaluate(compare) && right.evaluate(compare),
            Self::Or(left, right) => left.evaluate(compare) || right.evaluate(compare),
            Self::Not(inner) => !inner.evaluate(compare),
        }
    }
}
