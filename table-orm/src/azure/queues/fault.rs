//! Errors of the client and the service as errors of a queue.

use crate::azure::client_fault::{ClientFault, FaultKind};
use crate::queue::{QueueError, QueueErrorKind};

/// Converts an error of the client.
pub(crate) fn fault(queue: &str, error: azure_core::Error) -> QueueError {
    named(queue, ClientFault::of(error))
}

/// Builds the error of an answer that the service's documentation does not describe.
pub(crate) fn unreadable(queue: &str) -> QueueError {
    named(queue, ClientFault::unreadable())
}

fn named(queue: &str, fault: ClientFault<QueueErrorKind>) -> QueueError {
    let ClientFault { kind, message, source } = fault;
    QueueError { source, ..QueueError::new(kind, queue, message) }
}

impl FaultKind for QueueErrorKind {
    const SERVICE: &str = "the queue service";
    const ABSENT: Self = Self::QueueNotFound;
    const UNAVAILABLE: Self = Self::Unavailable;
    const OTHER: Self = Self::Other;

    /// The kind of a code (service documentation, "Queue Storage error codes").
    fn of(status: u16, code: &str) -> Self {
        match (status, code) {
            (_, "QueueNotFound") => Self::QueueNotFound,
            // Names and numbers are checked before, so the rejected parameter is the receipt.
            (_, "MessageNotFound" | "PopReceiptMismatch" | "InvalidQueryParameterValue") => {
                Self::MessageLost
            }
            (401 | 403, _) => Self::Forbidden,
            (408 | 429 | 500.., _) | (_, "QueueBeingDeleted") => Self::Unavailable,
            (400 | 413, _) => Self::Invalid,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azure::protocol::WireResponse;

    #[test]
    fn the_error_of_a_missing_queue_says_to_create_it() {
        let fault = |status, body: &'static str| {
            let answer = WireResponse::new(status, [], body.into());
            named("jobs", ClientFault::rejected("", &answer.fault()))
        };
        let absent = "<Error><Code>QueueNotFound</Code><Message>No queue.</Message></Error>";
        let error = fault(404, absent);
        assert_eq!(error.kind, QueueErrorKind::QueueNotFound);
        assert!(error.to_string().ends_with("No queue; create it first"), "{error}");
        let lost = "<Error><Code>MessageNotFound</Code><Message>No message.</Message></Error>";
        assert!(!fault(404, lost).to_string().contains("create it first"));
    }
}
