//! What is known of a write that may or may not have taken effect.

use super::{StoreError, StoredRow};
use std::error::Error;
use std::fmt;

/// Why it is not known whether a write took effect, and what is known.
///
/// It is the source of a [`StoreError`] with the code
/// [`AMBIGUOUS_WRITE`](super::ErrorCode::AMBIGUOUS_WRITE).
#[derive(Debug)]
#[non_exhaustive]
pub struct Ambiguity {
    /// How many times the write was sent.
    pub requests: u32,
    /// The first fault that may hide a success.
    pub lost: Box<StoreError>,
    /// The last answer, when that was another one.
    pub answer: Option<Box<StoreError>>,
    /// The id that the write would have left in its rows, when it carried one.
    pub write_id: Option<String>,
    /// The rows that were looked at afterwards: RowKey, and the row that was there.
    pub found: Vec<(String, Option<StoredRow>)>,
    /// Why no more rows were looked at.
    pub unseen: Option<Box<StoreError>>,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.requests == 1 { "once" } else { "repeatedly" };
        write!(f, "the write was sent {times}; an answer was lost: {}", self.lost)?;
        if let Some(answer) = &self.answer {
            write!(f, "; the last one was: {answer}")?;
        }
        if let Some(unseen) = &self.unseen {
            write!(f, "; its rows could not be read back: {unseen}")?;
        } else if !self.found.is_empty() {
            let there = self.found.iter().filter(|(_, row)| row.is_some()).count();
            write!(f, "; {there} of {} rows are there and do not tell", self.found.len())?;
        }
        Ok(())
    }
}

impl Error for Ambiguity {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.lost)
    }
}
