//! The ETag that a write asks for.

use super::row::Row;
use crate::store::{ErrorCode, IfMatch, StoreError};

/// Checks that a row is stored in the version that the write asks for.
pub(super) fn check_if_match(
    if_match: &IfMatch,
    stored: Option<&Row<'_>>,
) -> Result<(), StoreError> {
    let Some(stored) = stored else {
        return Err(StoreError::new(
            ErrorCode::RESOURCE_NOT_FOUND,
            "The specified resource does not exist.",
        ));
    };
    match if_match {
        IfMatch::ETag(etag) if *etag != stored.etag()? => Err(StoreError::new(
            ErrorCode::UPDATE_CONDITION_NOT_SATISFIED,
            "The update condition specified in the request was not satisfied.",
        )),
        _ => Ok(()),
    }
}
