//! What the client or the service tells, as an error of a queue.

use crate::azure::protocol::WireResponse;
use crate::azure::tables::unanswered;
use crate::queue::{QueueError, QueueErrorKind};
use crate::store::StoreError;
use azure_core::error::ErrorKind;

pub(crate) fn fault(queue: &str, error: azure_core::Error) -> QueueError {
    match error.kind() {
        ErrorKind::HttpResponse { raw_response: Some(answer), .. } => {
            let headers = answer.headers().iter();
            let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
            let body = answer.body().clone().into();
            refused(queue, &WireResponse::new(answer.status().into(), headers, body).fault())
        }
        ErrorKind::DataConversion => unreadable(queue).caused_by(error),
        _ => {
            let told = unanswered("the queue service", error);
            let unavailable =
                QueueError::new(QueueErrorKind::Unavailable, queue, told.message.clone());
            unavailable.caused_by(told)
        }
    }
}

fn refused(queue: &str, told: &StoreError) -> QueueError {
    let kind = kind(told.status, told.code.as_str());
    let mut message = told.to_string();
    if kind == QueueErrorKind::QueueNotFound {
        message = format!("{}; create it first", message.trim_end_matches('.'));
    }
    QueueError::new(kind, queue, message)
}

/// The error of an answer that is not what the service is documented to say.
pub(crate) fn unreadable(queue: &str) -> QueueError {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_is_not_there_is_to_be_created() {
        let told = |status, body: &'static str| {
            refused("jobs", &WireResponse::new(status, [], body.into()).fault())
        };
        let absent = "<Error><Code>QueueNotFound</Code><Message>No queue.</Message></Error>";
        let error = told(404, absent);
        assert_eq!(error.kind, QueueErrorKind::QueueNotFound);
        assert!(error.to_string().ends_with("No queue; create it first"), "{error}");
        let lost = "<Error><Code>MessageNotFound</Code><Message>No message.</Message></Error>";
        assert!(!told(404, lost).to_string().contains("create it first"));
    }
}
