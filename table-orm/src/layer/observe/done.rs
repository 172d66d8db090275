//! What a call did.

use crate::store::tally::Tally;
use crate::store::{StoreAnswer, StoreError};

/// The fewest rows looked at from which a page can get a warning.
pub const MIN_SCANNED_ROWS: usize = 20;

pub(super) struct Done<'c> {
    pub requests: u64,
    pub throttles: u64,
    pub returned: Option<usize>,
    pub scanned: Option<usize>,
    pub received: usize,
    pub error: Option<&'c StoreError>,
    /// The service's id of the last request.
    #[cfg_attr(not(feature = "tracing"), allow(dead_code, reason = "no label has it"))]
    pub request_id: Option<Box<str>>,
    /// Whether the copy in another region answered.
    #[cfg_attr(not(feature = "tracing"), allow(dead_code, reason = "no label has it"))]
    pub from_secondary: bool,
}

impl<'c> Done<'c> {
    pub fn new<T: StoreAnswer>(tally: &Tally, answer: &'c Result<T, StoreError>) -> Self {
        let (given, error) = (answer.as_ref().ok(), answer.as_ref().err());
        let throttled = error.is_some_and(StoreError::is_throttling);
        let of_error = error.and_then(|error| error.request_id.clone());
        Self {
            requests: tally.requests(),
            // If no layer below counts them, the answer does.
            throttles: tally.throttles().max(throttled.into()),
            returned: given.and_then(StoreAnswer::rows_returned),
            scanned: given.and_then(StoreAnswer::rows_scanned),
            received: given.map_or(0, StoreAnswer::bytes),
            error,
            from_secondary: tally.is_from_secondary(),
            request_id: of_error.or_else(|| tally.request_id()),
        }
    }

    /// `db.response.status_code` of a failure: `None` when no answer came.
    pub fn status_code(&self) -> Option<String> {
        let status = self.error?.status;
        (status != 0).then(|| status.to_string())
    }

    /// The rows returned and looked at, when these are less than a tenth.
    #[cfg(feature = "tracing")]
    pub fn sparse(&self) -> Option<(usize, usize)> {
        let (returned, scanned) = (self.returned?, self.scanned?);
        let sparse = scanned >= MIN_SCANNED_ROWS && returned.saturating_mul(10) < scanned;
        sparse.then_some((returned, scanned))
    }
}
