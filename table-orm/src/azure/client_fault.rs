//! Errors of Microsoft's clients of queues and blobs, by the kind that an app acts on.

use crate::azure::protocol::WireResponse;
use crate::azure::unanswered::unanswered;
use crate::store::{ErrorCode, StoreError};
use azure_core::error::ErrorKind;
use std::error::Error;

/// The kinds of one service's errors.
pub(super) trait FaultKind: Copy + PartialEq {
    /// What the service is called in messages.
    const SERVICE: &str;
    /// What holds the requested thing does not exist: create it first.
    const ABSENT: Self;
    const UNAVAILABLE: Self;
    const OTHER: Self;

    /// The kind of an answer with that status and code.
    fn of(status: u16, code: &str) -> Self;
}

/// What is known of a failure.
pub(super) struct ClientFault<K> {
    pub kind: K,
    pub message: String,
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// The code in the headers of the service's answer.
pub(super) fn code(error: &azure_core::Error) -> Option<&str> {
    match error.kind() {
        ErrorKind::HttpResponse { error_code: Some(code), .. } => Some(code),
        _ => None,
    }
}

impl<K: FaultKind> ClientFault<K> {
    /// What an error of the client says.
    pub fn of(error: azure_core::Error) -> Self {
        let code = code(&error).unwrap_or_default().to_owned();
        match error.kind() {
            ErrorKind::HttpResponse { raw_response: Some(answer), .. } => {
                let headers = answer.headers().iter();
                let headers = headers.map(|(name, value)| (name.as_str(), value.as_str()));
                let body = answer.body().clone().into();
                let answer = WireResponse::new(answer.status().into(), headers, body);
                Self::rejected(&code, &answer.fault())
            }
            // The body of a rejected download is not read.
            ErrorKind::HttpResponse { status, .. } => {
                let kind = K::of((*status).into(), &code);
                Self { kind, message: format!("{code} (HTTP {status})"), source: None }
            }
            ErrorKind::DataConversion => Self { source: Some(error.into()), ..Self::unreadable() },
            _ => {
                let source = unanswered(K::SERVICE, error);
                let is_too_long = source.code == ErrorCode::ANSWER_TOO_LONG;
                let kind = if is_too_long { K::OTHER } else { K::UNAVAILABLE };
                Self { kind, message: source.message.clone(), source: Some(source.into()) }
            }
        }
    }

    /// An answer that the service's documentation does not describe.
    pub fn unreadable() -> Self {
        let message = "the service's answer cannot be read".to_owned();
        Self { kind: K::OTHER, message, source: None }
    }

    /// The error of an answer. Without a code in its headers, that in its body counts.
    pub fn rejected(code: &str, error: &StoreError) -> Self {
        let code = if code.is_empty() { error.code.as_str() } else { code };
        let kind = K::of(error.status, code);
        let mut message = error.to_string();
        if kind == K::ABSENT {
            message = format!("{}; create it first", message.trim_end_matches('.'));
        }
        Self { kind, message, source: None }
    }
}
