//! The error of a call that its deadline ended.

use std::fmt;
use std::time::Duration;

/// A call that [`within`](crate::Within::within) ended, and what it may have done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadlineExceeded {
    /// The time that the call had.
    pub within: Duration,
    /// The number of requests of the call that took effect. A call that sends a single request has 0,
    /// because its answer ends the call.
    pub written: u64,
    /// Whether another write of the call may have taken effect: it was sent, and its answer had not
    /// come.
    pub may_have_written: bool,
}

impl DeadlineExceeded {
    /// Returns whether the call has certainly changed nothing.
    #[must_use]
    pub const fn wrote_nothing(&self) -> bool {
        self.written == 0 && !self.may_have_written
    }
}

impl fmt::Display for DeadlineExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call did not end within {:?}; ", self.within)?;
        match (self.written, self.may_have_written) {
            (0, false) => f.write_str("nothing was written"),
            (0, true) => {
                f.write_str("its write may have taken effect: read the rows before writing again")
            }
            (written, false) => write!(
                f,
                "{written} of its requests took effect: read the rows before writing again"
            ),
            (written, true) => write!(
                f,
                "{written} of its requests took effect, and another one may have: read the rows \
                 before writing again"
            ),
        }
    }
}

impl std::error::Error for DeadlineExceeded {}
