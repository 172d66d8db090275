//! The error of a request that was not answered.

use super::body::TooLong;
use crate::store::{ErrorCode, StoreError};
use azure_core::error::ErrorKind;
use std::error::Error;
use std::io;
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
        ErrorKind::Connection if refuses_certificate(&error) => {
            let message = format!(
                "this machine does not trust the certificate of {service}; add the authority that issued it to the \
                 system's or to `ConnectOptions::root_certificates`, and check the clock"
            );
            (ErrorCode::CERTIFICATE_REFUSED, message)
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
    let mut texts: Vec<_> = reasons(&*error).map(ToString::to_string).collect();
    // Some errors repeat the text of their source.
    texts.dedup();
    let message = format!("{message}: {}", texts.join(": "));
    let error = StoreError::new(code, message).caused_by(error);
    StoreError { status: 0, ..error }
}

/// Whether TLS ended at the certificate of the service.
fn refuses_certificate(error: &(dyn Error + 'static)) -> bool {
    reasons(error)
        .any(|error| matches!(error.downcast_ref(), Some(rustls::Error::InvalidCertificate(_))))
}

/// An error and its reasons, from the outermost. The reason of an I/O error is the error in it, which `source` passes
/// over.
fn reasons<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    successors(Some(error), |&error| match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|inner| inner as _),
        None => error.source(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_not_trusted_is_told_from_a_failed_connection() {
        let code = |error: rustls::Error| {
            // As the connector wraps it.
            let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
            let kind = ErrorKind::Connection;
            let error = azure_core::Error::with_error(kind, error, "connecting failed");
            let error = unanswered("the service", error);
            assert_eq!(error.status, 0);
            error.code
        };
        let unknown = rustls::CertificateError::UnknownIssuer;
        let refused = rustls::Error::InvalidCertificate(unknown);
        assert_eq!(code(refused), ErrorCode::CERTIFICATE_REFUSED);
        assert_eq!(code(rustls::Error::HandshakeNotComplete), ErrorCode::CONNECTION_FAILED);
    }
}
