//! Why settings of a layer are refused.

use crate::model::{MAX_NAME_CHARS, Printable};
use std::time::Duration;

/// A setting of a layer that is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A number outside its limits.
    #[error("{name} must be {least} to {most}, not {given}")]
    Number {
        /// Which setting.
        name: &'static str,
        /// The rejected value.
        given: u64,
        /// The least that is accepted.
        least: u64,
        /// The most that is accepted.
        most: u64,
    },
    /// A time that is zero or too long.
    #[error("{name} must be longer than 0 s and at most {most:?}, not {given:?}")]
    Time {
        /// Which setting.
        name: &'static str,
        /// What was given.
        given: Duration,
        /// The most that is accepted.
        most: Duration,
    },
    /// A shortest wait that is longer than the longest.
    #[error("the shortest wait, {min:?}, is longer than the longest wait, {max:?}; swap them")]
    Waits {
        /// The shortest wait.
        min: Duration,
        /// The longest wait.
        max: Duration,
    },
    /// A deadline that is shorter than one attempt.
    #[error(
        "the deadline of a call, {deadline:?}, is shorter than the timeout of one attempt, {attempt:?}; \
         raise the deadline, or shorten `attempt_timeout`"
    )]
    Deadline {
        /// The time a call may take.
        deadline: Duration,
        /// The time one of its requests may take.
        attempt: Duration,
    },
    /// Text that cannot name the property of the write id.
    #[error(
        "`{}` cannot name the property of the write id: a name has 1 to {MAX_NAME_CHARS} letters, digits and `_`, does \
         not start with a digit, and is not `PartitionKey`, `RowKey` or `Timestamp`",
        Printable(.0)
    )]
    WriteIdName(String),
    /// A script of faults that names no operation of a store or of blobs.
    #[error(
        "`{0}` is not an operation of a store; write `get`, `query`, `commit`, `insert`, `replace`, \
         `merge`, `insert-or-replace`, `insert-or-merge`, `delete`, `create_table`, `delete_table`, \
         `list_tables`, or of blobs `create-blob`, `stage-blob`, `commit-blob`, `read-blob`, `delete-blob` or \
         `list-blobs`"
    )]
    FaultOperation(&'static str),
    /// The store has no copy to read from.
    #[error(
        "cannot read from the secondary location, because the store has none: use `ReadFrom::PrimaryOnly`"
    )]
    NoSecondary,
    /// The error of a layer that is not part of this crate.
    #[error("{0}")]
    Custom(String),
    /// A probability outside 0 to 1, or one that makes the sum exceed 1.
    #[error("`{name}` is {given}; a probability is 0 to 1, and their sum at most 1")]
    Probability {
        /// Which fault.
        name: &'static str,
        /// What was given.
        given: f64,
    },
}

/// Checks a number.
pub(super) fn number(name: &'static str, given: usize, most: usize) -> Result<(), LayerError> {
    if (1..=most).contains(&given) {
        return Ok(());
    }
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    Err(LayerError::Number { name, given: wide(given), least: 1, most: wide(most) })
}

/// Checks a time.
pub(super) fn time(name: &'static str, given: Duration, most: Duration) -> Result<(), LayerError> {
    if given.is_zero() || given > most {
        return Err(LayerError::Time { name, given, most });
    }
    Ok(())
}

/// Checks a probability.
#[cfg(any(test, feature = "testing"))]
pub(super) fn probability(name: &'static str, given: f64) -> Result<(), LayerError> {
    if (0.0..=1.0).contains(&given) {
        return Ok(());
    }
    Err(LayerError::Probability { name, given })
}
