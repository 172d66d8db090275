//! Errors of the client and the service as errors of a queue.

use crate::azure::protocol::WireResponse;
use crate::azure::tables::unanswered;
use crate::queue::{QueueError, QueueErrorKind};
use crate::store::{ErrorCode, StoreError};
use azure_core::error::ErrorKind;

/// Converts an error of the client.
pub(crate) fn fault(queue: &str, error: azure_core::Error) -> QueueError {
    match error.kind() {
        ErrorKind::HttpResponse { raw_response: Some(answer), .. } => {
            let headers = answer.headers().iter();
            let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
            let body = answer.body().clone().into();
            rejected(queue, &WireResponse::new(answer.status().into(), headers, body).fault())
        }
        ErrorKind::DataConversion => unreadable(queue).caused_by(error),
        _ => {
            let source = unanswered("the queue service", error);
            let is_too_long = source.code == ErrorCode::ANSWER_TOO_LONG;
            let kind =
                if is_too_long { QueueErrorKind::Other } else { QueueErrorKind::Unavailable };
            QueueError::new(kind, queue, source.message.clone()).caused_by(source)
        }
    }
}

fn rejected(queue: &str, error: &StoreError) -> QueueError {
    let kind = kind(error.status, error.code.as_str());
    let mut message = error.to_string();
    if kind == QueueErrorKind::QueueNotFound {
        message = format!("{}; create it first", message.trim_end_matches('.'));
    }
    QueueError::new(kind, queue, message)
}

/// Builds the error of an answer that the service's documentation does not describe.
pub(crate) fn unreadable(queue: &str) -> QueueError {
    QueueError::new(QueueErrorKind::Other, queue, "the service's answer cannot be read")
}

/// Determines the kind by the code (service documentation, "Queue Storage error codes").
fn kind(status: u16, code: &str) -> QueueErrorKind {
    match (status, code) {
        (_, "QueueNotFound") => QueueErrorKind::QueueNotFound,
        // Names and numbers are checked before, so the rejected parameter is the receipt.
        (_, "MessageNotFound" | "PopReceiptMismatch" | "InvalidQueryParameterValue") => {
            QueueErrorKind::MessageLost
        }
        (401 | 403, _) => QueueErrorKind::Forbidden,
        (408 | 429 | 500.., _) | (_, "QueueBeingDeleted") => QueueErrorKind::Unavailable,
        (400 | 413, _) => QueueErrorKind::Invalid,
        _ => QueueErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_missing_queue_says_to_create_it() {
        let fault = |status, body: &'static str| {
            rejected("jobs", &WireResponse::new(status, [], body.into()).fault())
        };
        let absent = "<Error><Code>QueueNotFound</Code><Message>No queue.</Message></Error>";
        let error = fault(404, absent);
        assert_eq!(error.kind, QueueErrorKind::QueueNotFound);
        assert!(error.to_string().ends_with("No queue; create it first"), "{error}");
        let lost = "<Error><Code>MessageNotFound</Code><Message>No message.</Message></Error>";
        assert!(!fault(404, lost).to_string().contains("create it first"));
    }
}
