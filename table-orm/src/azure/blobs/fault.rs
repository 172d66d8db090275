//! Errors of the client and the service as errors of a blob.

use crate::azure::client_fault::{ClientFault, FaultKind};
use crate::blobs::{BlobError, BlobErrorKind};

/// Converts an error of the client.
pub(crate) fn fault(name: &str, error: azure_core::Error) -> BlobError {
    named(name, ClientFault::of(error))
}

/// Builds the error of an answer that the service's documentation does not describe.
pub(crate) fn unreadable(name: &str) -> BlobError {
    named(name, ClientFault::unreadable())
}

fn named(name: &str, fault: ClientFault<BlobErrorKind>) -> BlobError {
    let ClientFault { kind, message, source } = fault;
    BlobError { source, ..BlobError::new(kind, name, message) }
}

impl FaultKind for BlobErrorKind {
    const SERVICE: &str = "the blob service";
    const ABSENT: Self = Self::ContainerNotFound;
    const UNAVAILABLE: Self = Self::Unavailable;
    const OTHER: Self = Self::Other;

    /// The kind of a code (service documentation, "Blob Storage error codes").
    fn of(status: u16, code: &str) -> Self {
        match (status, code) {
            (_, "ContainerNotFound") => Self::ContainerNotFound,
            (404 | 412, _) | (_, "BlobAlreadyExists" | "InvalidBlockList") => Self::Changed,
            (401 | 403, _) => Self::Forbidden,
            (408 | 429 | 500.., _) | (_, "ContainerBeingDeleted") => Self::Unavailable,
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
    fn the_error_of_a_missing_container_says_to_create_it() {
        let fault = |status, body: &'static str| {
            let answer = WireResponse::new(status, [], body.into());
            named("films.1", ClientFault::rejected("", &answer.fault()))
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
