//! Why a layer cannot be built.

use std::time::Duration;

/// Settings of a layer that make no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// A number outside its limits.
    #[error("{name} is {given}; use {least} to {most}")]
    Number {
        /// Which setting.
        name: &'static str,
        /// What was given.
        given: u64,
        /// The least that makes sense.
        least: u64,
        /// The most that makes sense.
        most: u64,
    },
    /// A time of zero, or longer than the longest that makes sense.
    #[error("{name} is {given:?}; use more than nothing and at most {most:?}")]
    Time {
        /// Which setting.
        name: &'static str,
        /// What was given.
        given: Duration,
        /// The most that makes sense.
        most: Duration,
    },
    /// A shortest wait above the longest.
    #[error("the shortest wait {min:?} is above the longest {max:?}")]
    Waits {
        /// The shortest wait.
        min: Duration,
        /// The longest wait.
        max: Duration,
    },
    /// A deadline that ends a call before its first attempt may end.
    #[error(
        "the deadline {deadline:?} is shorter than the timeout {attempt:?} of one attempt; make \
         it longer, or the timeout shorter"
    )]
    Deadline {
        /// The time a call may take.
        deadline: Duration,
        /// The time one of its requests may take.
        attempt: Duration,
    },
    /// Text that cannot name the property of the write id.
    #[error(
        "`{0}` cannot name the write id's property: use 1 to 255 letters, digits and `_`, not \
         starting with a digit, and none of the service's own names"
    )]
    WriteIdName(String),
    /// What a layer of an app's own has to say.
    #[error("{0}")]
    Own(String),
    /// A probability that is none, or that makes all of them exceed 1.
    #[error("{name} has the probability {given}; each is 0 to 1, and their sum at most 1")]
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
