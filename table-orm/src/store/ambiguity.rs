//! What is known of a write that may have taken effect.

use super::error::{ErrorCode, StoreError};
use super::page::StoredRow;
use std::error::Error;
use std::fmt;

/// What is known of a write that may or may not have taken effect.
///
/// It is the source of a [`StoreError`] with the code
/// [`AMBIGUOUS_WRITE`](super::ErrorCode::AMBIGUOUS_WRITE).
#[derive(Debug)]
#[non_exhaustive]
pub struct Ambiguity {
    /// How many times the write was sent.
    pub requests: u32,
    /// The first error after which the write may have taken effect.
    pub lost: Box<StoreError>,
    /// The last error, if it is not `lost`.
    pub answer: Option<Box<StoreError>>,
    /// The id that the write left in its rows if it took effect, when it carried one.
    pub write_id: Option<String>,
    /// The rows that were read back: RowKey, and the row if there was one.
    pub found: Vec<(String, Option<StoredRow>)>,
    /// Why no more rows were read back.
    pub unseen: Option<Box<StoreError>>,
    /// Whether the write inserts or replaces rows only, and each of them is there as it was sent. This
    /// write left them so, or another one that stores the same; which of both, nobody knows.
    pub identical: bool,
}

impl fmt::Display for Ambiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.requests == 1 { "once" } else { "repeatedly" };
        write!(f, "the write was sent {times} and may have taken effect: {}", self.lost)?;
        if let Some(answer) = &self.answer {
            write!(f, "; the last attempt failed with: {answer}")?;
        }
        if self.identical {
            f.write_str(
                "; its rows are stored as they were sent, by this write or by an equal one",
            )?;
        } else if let Some(unseen) = &self.unseen {
            write!(f, "; its rows could not be read back: {unseen}")?;
        } else if !self.found.is_empty() {
            let there = self.found.iter().filter(|(_, row)| row.is_some()).count();
            let all = self.found.len();
            write!(f, "; {there} of its {all} rows exist and do not show whether it did")?;
        }
        Ok(())
    }
}

impl Error for Ambiguity {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.lost)
    }
}

impl StoreError {
    /// Returns what is known of a write that may or may not have taken effect, if this is such an error.
    #[must_use]
    pub fn ambiguity(&self) -> Option<&Ambiguity> {
        self.source()?.downcast_ref()
    }

    /// The code of the store's answer. Of a write whose answer was lost, that of the answer when it was sent again.
    pub(crate) fn answer_code(&self) -> &ErrorCode {
        let lost = self.ambiguity().and_then(|ambiguity| ambiguity.answer.as_deref());
        lost.map_or(&self.code, |answer| &answer.code)
    }
}
