//! What an error says about its request: whether a retry may succeed, and whether it may have taken
//! effect.

use crate::store::{ErrorCode, StoreError};

/// Returns whether the same request may succeed later: after transport faults and the statuses 408, 429, 500,
/// 502, 503 and 504. A single operation of a transaction can fail with these too (Cosmos DB answers
/// 429 there), but its 408 is a rejection. A credential that returned no token has already retried by
/// itself. A certificate that is not trusted stays so. An answer that is too long would be as long again, and a write without an ETag has taken effect.
#[must_use]
pub fn is_transient(error: &StoreError) -> bool {
    match error.status {
        0 => ![
            ErrorCode::AMBIGUOUS_WRITE,
            ErrorCode::ANSWER_TOO_LONG,
            ErrorCode::CERTIFICATE_REFUSED,
            ErrorCode::CREDENTIAL_UNAVAILABLE,
            ErrorCode::NO_ETAG,
        ]
        .contains(&error.code),
        429 | 500 | 502 | 503 | 504 => true,
        408 => error.operation.is_none(),
        _ => false,
    }
}

/// Whether a write that failed with this error may have taken effect.
///
/// After no answer and after most server errors it may. It has not if it was rejected, never sent,
/// throttled (the service rejects such a request before it does anything), is not implemented by the
/// service, or the embedded store rejects it because it lost earlier ones.
pub(crate) fn is_ambiguous(error: &StoreError) -> bool {
    match error.status {
        0 => !is_unsent(error),
        408 => error.operation.is_none(),
        501 | 505 => false,
        507 => error.code != ErrorCode::ANSWERED_WRITES_LOST,
        // Of a server over an embedded store that is closed.
        503 => ![ErrorCode::SERVER_BUSY, ErrorCode::CONNECTION_FAILED].contains(&error.code),
        status => status >= 500,
    }
}

/// Whether the service never saw the request.
fn is_unsent(error: &StoreError) -> bool {
    [
        ErrorCode::CERTIFICATE_REFUSED,
        ErrorCode::CONNECTION_FAILED,
        ErrorCode::CREDENTIAL_UNAVAILABLE,
    ]
    .contains(&error.code)
}

/// Whether the request itself is invalid, so that no earlier attempt took effect either.
///
/// A proxy that answers 400 has not looked at the request. Whether a merged row is too large depends on
/// what is stored meanwhile.
pub(super) fn proves_no_effect(error: &StoreError) -> bool {
    let of_this_attempt =
        [ErrorCode::NO_ERROR_CODE, ErrorCode::ENTITY_TOO_LARGE, ErrorCode::TOO_MANY_PROPERTIES];
    matches!(error.status, 400 | 413) && !of_this_attempt.contains(&error.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, operation: Option<usize>) -> StoreError {
        let error = StoreError::new(ErrorCode::new("Code"), "");
        StoreError { status, operation, ..error }
    }

    #[test]
    fn only_transient_faults_are_retried() {
        for status in [0, 408, 429, 500, 502, 503, 504] {
            assert!(is_transient(&error(status, None)), "{status}");
        }
        for status in [400, 401, 403, 404, 405, 409, 411, 412, 413, 415, 501, 505, 507] {
            assert!(!is_transient(&error(status, None)), "{status}");
        }
    }

    #[test]
    fn a_request_that_was_never_sent_has_no_effect() {
        let unsent = |code| StoreError { status: 0, ..StoreError::new(code, "") };
        let connection = unsent(ErrorCode::CONNECTION_FAILED);
        assert!(is_transient(&connection) && !is_ambiguous(&connection));
        for code in [ErrorCode::CERTIFICATE_REFUSED, ErrorCode::CREDENTIAL_UNAVAILABLE] {
            let error = unsent(code);
            assert!(!is_transient(&error) && !is_ambiguous(&error));
        }
        let unanswered = unsent(ErrorCode::NO_ANSWER);
        assert!(is_transient(&unanswered) && is_ambiguous(&unanswered));
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_asked_for_again_and_hides_what_a_write_did() {
        let answer = |code| StoreError { status: 0, ..StoreError::new(code, "") };
        let too_long = answer(ErrorCode::ANSWER_TOO_LONG);
        assert!(!is_transient(&too_long) && is_ambiguous(&too_long));
        assert!(is_transient(&answer(ErrorCode::NO_PROGRESS)), "the next answer may go on");
    }

    #[test]
    fn an_operation_of_a_transaction_is_retried_after_server_faults_and_throttling() {
        for status in [429, 500, 503] {
            assert!(is_transient(&error(status, Some(3))), "{status}");
        }
        for status in [400, 404, 408, 409, 412] {
            assert!(!is_transient(&error(status, Some(3))), "{status}");
        }
    }

    #[test]
    fn only_what_is_wrong_with_the_request_itself_tells_of_earlier_attempts() {
        let rejected =
            |code| proves_no_effect(&StoreError { status: 400, ..StoreError::new(code, "") });
        assert!(rejected(ErrorCode::INVALID_INPUT));
        assert!(!rejected(ErrorCode::NO_ERROR_CODE), "the answer of a proxy");
        assert!(!rejected(ErrorCode::TOO_MANY_PROPERTIES), "of the merged row");
        assert!(!rejected(ErrorCode::ENTITY_TOO_LARGE), "of the merged row");
        assert!(!proves_no_effect(&StoreError::new(ErrorCode::ENTITY_ALREADY_EXISTS, "")));
    }

    #[test]
    fn throttled_and_rejected_writes_have_no_effect() {
        for status in [400, 404, 409, 412, 429, 501, 505] {
            assert!(!is_ambiguous(&error(status, None)), "{status}");
        }
        for status in [0, 408, 500, 502, 503, 504, 507] {
            assert!(is_ambiguous(&error(status, None)), "{status}");
        }
        assert!(!is_ambiguous(&StoreError::new(ErrorCode::SERVER_BUSY, "")));
        let lost = StoreError::new(ErrorCode::ANSWERED_WRITES_LOST, "");
        assert!(!is_ambiguous(&StoreError { status: 507, ..lost }));
    }
}
