//! Numbers for people.

use crate::figures::grouped;

/// A number without decimals, in groups of three.
pub(super) fn number(value: f64) -> String {
    grouped(value.round() as u64)
}
