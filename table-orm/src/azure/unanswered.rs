//! The error of a request that was not answered.

use super::body::TooLong;
use crate::store::{ErrorCode, StoreError};
use azure_core::error::ErrorKind;
use std::error::Error;
use std::iter::successors;

/// Builds the error of a request to `service` that was not answered.
pub(crate) fn unanswered(service: &str, error: azure_core::Error) -> StoreError {
    let (code, message) = match error.kind() {
        _ if error.downcast_ref::<TooLong>().is_some() => {
            let message = format!(
                "the answer of {service} was not read to its end; is it the service that answers \
                 there? If so, ask for fewer rows of a page, or raise \
                 `ConnectOptions::max_answer_bytes`"
            );
            (ErrorCode::ANSWER_TOO_LONG, message)
        }
        ErrorKind::Connection => {
            (ErrorCode::CONNECTION_FAILED, format!("no connection to {service}"))
        }
        ErrorKind::Credential => {
            (ErrorCode::CREDENTIAL_UNAVAILABLE, "no token is available".to_owned())
        }
        _ => (ErrorCode::NO_ANSWER, format!("no answer from {service}")),
    };
    // Without the pipeline's error around it, whose `Debug` output may be pages of backtrace.
    let error = error.into_inner().unwrap_or_else(Into::into);
    let first: &(dyn Error + 'static) = &*error;
    let reasons = successors(Some(first), |&error| error.source());
    let mut reasons: Vec<_> = reasons.map(ToString::to_string).collect();
    // Some errors repeat the text of their source.
    reasons.dedup();
    let message = format!("{message}: {}", reasons.join(": "));
    let error = StoreError::new(code, message).caused_by(error);
    StoreError { status: 0, ..error }
}
