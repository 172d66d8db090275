//! Errors of the client and the service as errors of a blob.

use crate::azure::protocol::WireResponse;
use crate::azure::tables::unanswered;
use crate::blobs::{BlobError, BlobErrorKind};
use crate::store::{ErrorCode, StoreError};
use azure_core::error::ErrorKind;

/// The code of the service's answer (service documentation, "Blob Storage error codes").
pub(crate) fn code(error: &azure_core::Error) -> Option<&str> {
    match error.kind() {
        ErrorKind::HttpResponse { error_code: Some(code), .. } => Some(code),
        _ => None,
    }
}

/// Converts an error of the client.
pub(crate) fn fault(name: &str, error: azure_core::Error) -> BlobError {
    let code = code(&error).unwrap_or_default().to_owned();
    match error.kind() {
        ErrorKind::HttpResponse { raw_response: Some(answer), .. } => {
            let headers = answer.headers().iter();
            let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
            let body = answer.body().clone().into();
            rejected(name, &code, &WireResponse::new(answer.status().into(), headers, body).fault())
        }
        // The body of a rejected download is not read.
        ErrorKind::HttpResponse { status, .. } => {
            let kind = kind((*status).into(), &code);
            BlobError::new(kind, name, format!("{code} (HTTP {status})"))
        }
        ErrorKind::DataConversion => unreadable(name).caused_by(error),
        _ => {
            let source = unanswered("the blob service", error);
            let is_too_long = source.code == ErrorCode::ANSWER_TOO_LONG;
            let kind = if is_too_long { BlobErrorKind::Other } else { BlobErrorKind::Unavailable };
            BlobError::new(kind, name, source.message.clone()).caused_by(source)
        }
    }
}

fn rejected(name: &str, code: &str, error: &StoreError) -> BlobError {
    let code = if code.is_empty() { error.code.as_str() } else { code };
    let kind = kind(error.status, code);
    let mut message = error.to_string();
    if kind == BlobErrorKind::ContainerNotFound {
        message = format!("{}; create it first", message.trim_end_matches('.'));
    }
    BlobError::new(kind, name, message)
}

/// Builds the error of an answer that the service's documentation does not describe.
pub(crate) fn unreadable(name: &str) -> BlobError {
    BlobError::new(BlobErrorKind::Other, name, "the service's answer cannot be read")
}

fn kind(status: u16, code: &str) -> BlobErrorKind {
    match (status, code) {
        (_, "ContainerNotFound") => BlobErrorKind::ContainerNotFound,
        (404 | 412, _) | (_, "BlobAlreadyExists" | "InvalidBlockList") => BlobErrorKind::Changed,
        (401 | 403, _) => BlobErrorKind::Forbidden,
        (408 | 429 | 500.., _) | (_, "ContainerBeingDeleted") => BlobErrorKind::Unavailable,
        (400 | 413, _) => BlobErrorKind::Invalid,
        _ => BlobErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_missing_container_says_to_create_it() {
        let fault = |status, body: &'static str| {
            rejected("films.1", "", &WireResponse::new(status, [], body.into()).fault())
        };
        let absent =
            "<Error><Code>ContainerNotFound</Code><Message>No container.</Message></Error>";
        let error = fault(404, absent);
        assert_eq!(error.kind, BlobErrorKind::ContainerNotFound);
        assert!(error.to_string().ends_with("No container; create it first"), "{error}");
        let busy = "<Error><Code>ServerBusy</Code><Message>Too much.</Message></Error>";
        assert_eq!(fault(503, busy).kind, BlobErrorKind::Unavailable);
        let changed = "<Error><Code>ConditionNotMet</Code><Message>No.</Message></Error>";
        assert_eq!(fault(412, changed).kind, BlobErrorKind::Changed);
    }
}
