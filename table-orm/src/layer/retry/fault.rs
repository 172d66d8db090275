//! Which faults pass by themselves, and which may hide a success.

use crate::store::{ErrorCode, StoreError};

/// Whether it makes sense to send the same request again: transport faults, 408, 429, 500, 502,
/// 503 and 504, but no other status, and no refusal of one operation of a transaction but throttling:
/// Cosmos DB answers 429 there. A credential without a token has tried again itself.
pub(super) fn passes(error: &StoreError) -> bool {
    match error.status {
        0 => ![ErrorCode::AMBIGUOUS_WRITE, ErrorCode::CREDENTIAL_UNAVAILABLE].contains(&error.code),
        429 | 500 | 502 | 503 | 504 => true,
        408 => error.operation.is_none(),
        _ => false,
    }
}

/// Whether a write that failed so may have taken effect all the same.
///
/// A refusal means that it has not. So do a request that was never sent, throttling (the service
/// turns the request away at the door) and what the service does not implement; other server errors
/// and no answer do not.
pub(super) fn may_hide_success(error: &StoreError) -> bool {
    match error.status {
        0 => !is_unsent(error),
        408 => error.operation.is_none(),
        501 | 505 => false,
        503 => error.code != ErrorCode::SERVER_BUSY,
        status => status >= 500,
    }
}

/// Whether the service never saw the request.
fn is_unsent(error: &StoreError) -> bool {
    [ErrorCode::CONNECTION_FAILED, ErrorCode::CREDENTIAL_UNAVAILABLE].contains(&error.code)
}

/// Whether the request itself is at fault, so that no earlier attempt can have succeeded either.
pub(super) fn condemns_request(error: &StoreError) -> bool {
    matches!(error.status, 400 | 413)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, operation: Option<usize>) -> StoreError {
        let error = StoreError::new(ErrorCode::new("Code"), "");
        StoreError { status, operation, ..error }
    }

    #[test]
    fn only_faults_that_pass_are_tried_again() {
        for status in [0, 408, 429, 500, 502, 503, 504] {
            assert!(passes(&error(status, None)), "{status}");
        }
        for status in [400, 401, 403, 404, 405, 409, 411, 412, 413, 415, 501, 505, 507] {
            assert!(!passes(&error(status, None)), "{status}");
        }
    }

    #[test]
    fn what_was_never_sent_has_not_taken_effect() {
        let unsent = |code| StoreError { status: 0, ..StoreError::new(code, "") };
        let connection = unsent(ErrorCode::CONNECTION_FAILED);
        assert!(passes(&connection) && !may_hide_success(&connection));
        let credential = unsent(ErrorCode::CREDENTIAL_UNAVAILABLE);
        assert!(!passes(&credential) && !may_hide_success(&credential));
        let unanswered = unsent(ErrorCode::NO_ANSWER);
        assert!(passes(&unanswered) && may_hide_success(&unanswered));
    }

    #[test]
    fn an_operation_of_a_transaction_is_tried_again_after_server_faults_and_throttling() {
        for status in [429, 500, 503] {
            assert!(passes(&error(status, Some(3))), "{status}");
        }
        for status in [400, 404, 408, 409, 412] {
            assert!(!passes(&error(status, Some(3))), "{status}");
        }
    }

    #[test]
    fn throttled_and_refused_writes_have_not_taken_effect() {
        for status in [400, 404, 409, 412, 429, 501, 505] {
            assert!(!may_hide_success(&error(status, None)), "{status}");
        }
        for status in [0, 408, 500, 502, 503, 504, 507] {
            assert!(may_hide_success(&error(status, None)), "{status}");
        }
        assert!(!may_hide_success(&StoreError::new(ErrorCode::SERVER_BUSY, "")));
    }
}
