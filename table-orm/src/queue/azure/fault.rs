//! What the client or the service tells, as an error of a queue.

use crate::protocol::Response;
use crate::queue::{QueueError, QueueErrorKind};
use crate::store::azure::unanswered;
use azure_core::error::ErrorKind;

pub(super) fn fault(queue: &str, error: azure_core::Error) -> QueueError {
    match error.kind() {
        ErrorKind::HttpResponse { raw_response: Some(answer), .. } => {
            let headers = answer.headers().iter();
            let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
            let body = answer.body().clone().into();
            let told = Response::new(answer.status().into(), headers, body).fault();
            QueueError::new(kind(told.status, told.code.as_str()), queue, told.to_string())
        }
        ErrorKind::DataConversion => unreadable(queue).caused_by(error),
        _ => {
            let told = unanswered(error);
            let unavailable =
                QueueError::new(QueueErrorKind::Unavailable, queue, told.message.clone());
            unavailable.caused_by(told)
        }
    }
}

/// The error of an answer that is not what the service is documented to say.
pub(super) fn unreadable(queue: &str) -> QueueError {
    QueueError::new(QueueErrorKind::Other, queue, "the service's answer cannot be read")
}

/// The codes are those of the service documentation, "Queue Storage error codes".
fn kind(status: u16, code: &str) -> QueueErrorKind {
    match (status, code) {
        (_, "QueueNotFound") => QueueErrorKind::QueueNotFound,
        // Names and numbers are checked before, so that a parameter is only refused for the
        // receipt in it.
        (_, "MessageNotFound" | "PopReceiptMismatch" | "InvalidQueryParameterValue") => {
            QueueErrorKind::MessageLost
        }
        (401 | 403, _) => QueueErrorKind::Forbidden,
        (408 | 429 | 500.., _) | (_, "QueueBeingDeleted") => QueueErrorKind::Unavailable,
        (400 | 413, _) => QueueErrorKind::Invalid,
        _ => QueueErrorKind::Other,
    }
}
