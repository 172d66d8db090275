//! The error of a rejected request.
//!
//! The body holds the code, as JSON, or as XML when authentication failed. Only Azurite repeats it
//! in a header.

use super::message::WireResponse;
use super::xml;
use crate::store::{ErrorCode, StoreError};
use serde_json::Value;

/// The most characters of a message that an error repeats. A proxy may answer with a long text.
const MOST_CHARS: usize = 1000;

/// The code of an answer that cannot be read.
const UNREADABLE: &str = "UnreadableAnswer";

impl WireResponse {
    /// Returns the error that the response describes.
    #[must_use]
    pub fn fault(&self) -> StoreError {
        let (code, message) = json(&self.body).or_else(|| from_xml(&self.body)).unwrap_or_default();
        let (message, request_id) = split_message(&message);
        let message =
            message.char_indices().nth(MOST_CHARS).map_or(message, |(end, _)| &message[..end]);
        let code = [Some(code), self.error_code.clone()].into_iter().flatten();
        let code = match code.into_iter().find(|code| !code.is_empty()) {
            Some(code) => ErrorCode::new(code),
            None if self.status == 413 => ErrorCode::REQUEST_BODY_TOO_LARGE,
            None => ErrorCode::NO_ERROR_CODE,
        };
        let message = match self.status {
            _ if code != ErrorCode::NO_ERROR_CODE || !message.is_empty() => message.to_owned(),
            status @ 500.. => format!(
                "HTTP status {status} without an error code: the service, or a proxy before it, \
                 failed to answer this request"
            ),
            status => format!(
                "HTTP status {status} without an error of the Table service; is it the Table \
                 service that answers at this endpoint?"
            ),
        };
        StoreError {
            status: self.status,
            code,
            message,
            operation: None,
            request_id: self.request_id.as_deref().or(request_id).map(Into::into),
            retry_after: self.retry_after,
            source: None,
        }
    }

    /// Returns the error of a transaction's part, with the index of the failed operation. The
    /// service puts the index before its message, but may leave it out.
    pub(crate) fn operation_fault(&self) -> StoreError {
        let mut error = self.fault();
        let index = error.message.split_once(':').and_then(|(index, rest)| {
            let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| Some((index.parse().ok()?, rest.to_owned()))).flatten()
        });
        if let Some((index, message)) = index {
            error.operation = Some(index);
            error.message = message;
        }
        error
    }

    /// Builds the error of an answer that breaks the protocol. What the service did is then
    /// unknown.
    pub(crate) fn unreadable(&self, message: impl Into<String>) -> StoreError {
        StoreError {
            code: ErrorCode::new(UNREADABLE),
            status: 0,
            message: message.into(),
            operation: None,
            request_id: self.request_id.as_deref().map(Into::into),
            retry_after: None,
            source: None,
        }
    }

    /// Builds the error of an answer that may not be the service's. `what` says what was
    /// unexpected.
    pub(crate) fn unrecognized(&self, what: &str) -> StoreError {
        self.unreadable(format!(
            "HTTP status {} with {what}; is it the Table service that answers at this endpoint?",
            self.status
        ))
    }
}

/// `{"odata.error":{"code":"..","message":{"lang":"..","value":".."}}}`.
fn json(body: &[u8]) -> Option<(String, String)> {
    let value: Value = serde_json::from_slice(body.trim_ascii()).ok()?;
    let error = value.get("odata.error").or_else(|| value.get("error"))?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let message = error.get("message");
    let message = text(message.and_then(|message| message.get("value"))).or_else(|| text(message));
    Some((text(error.get("code")).unwrap_or_default(), message.unwrap_or_default()))
}

/// `<Error><Code>..</Code><Message>..</Message>..</Error>`, with or without a namespace prefix.
/// Other elements, such as the signed text of a failed signature, are left out.
fn from_xml(body: &[u8]) -> Option<(String, String)> {
    let text = std::str::from_utf8(body).ok()?;
    if !text.trim_start_matches('\u{FEFF}').trim_start().starts_with('<') {
        return None;
    }
    let first = |names: [&str; 2]| {
        let (content, _) = names.into_iter().find_map(|name| xml::element(text, name))?;
        Some(xml::text(content).unwrap_or_else(|| content.to_owned()))
    };
    Some((first(["Code", "m:code"])?, first(["Message", "m:message"]).unwrap_or_default()))
}

/// Splits off the request id and time, which the service appends to the message in lines of their
/// own.
fn split_message(message: &str) -> (&str, Option<&str>) {
    // The second form is that of Cosmos DB.
    let split = message.split_once("\nRequestId:").or_else(|| message.split_once("\nRequestID:"));
    match split {
        Some((message, rest)) => {
            let id = rest.lines().next().unwrap_or_default().trim();
            (message.trim_end(), (!id.is_empty()).then_some(id))
        }
        None => (message.trim_end(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::time::Duration;

    fn fault(status: u16, headers: &[(&str, &str)], body: &'static str) -> StoreError {
        WireResponse::new(status, headers.iter().copied(), Bytes::from_static(body.as_bytes()))
            .fault()
    }

    #[test]
    fn the_code_comes_from_the_body_before_the_header() {
        let error = fault(
            409,
            &[("X-MS-Error-Code", "Other"), ("x-ms-request-id", "id-1")],
            r#"{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"The specified entity already exists.\nRequestId:abc\nTime:2026-11-21T12:00:00Z"}}}"#,
        );
        assert_eq!(error.code, ErrorCode::ENTITY_ALREADY_EXISTS);
        assert_eq!(error.status, 409);
        assert_eq!(error.message, "The specified entity already exists.");
        assert_eq!(error.request_id.as_deref(), Some("id-1"));
    }

    #[test]
    fn the_request_id_may_be_in_the_message_only() {
        let body = r#"{"odata.error":{"code":"X","message":{"value":"m\nRequestId:abc\nTime:t"}}}"#;
        assert_eq!(fault(400, &[], body).request_id.as_deref(), Some("abc"));
        let body = r#"{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-us","value":"The specified entity already exists.\nRequestID:b639\n"}}}"#;
        let cosmos = fault(409, &[], body);
        assert_eq!(cosmos.request_id.as_deref(), Some("b639"));
        assert_eq!(cosmos.message, "The specified entity already exists.");
    }

    #[test]
    fn a_long_message_is_cut() {
        let long = "ü".repeat(5 * MOST_CHARS);
        let body = format!(
            r#"{{"odata.error":{{"code":"X","message":{{"value":"{long}\nRequestId:abc"}}}}}}"#
        );
        let error = WireResponse::new(403, [], Bytes::from(body)).fault();
        assert_eq!(error.message, "ü".repeat(MOST_CHARS));
        assert_eq!(error.request_id.as_deref(), Some("abc"));
    }

    #[test]
    fn authentication_errors_are_xml() {
        let error = fault(
            403,
            &[],
            "\u{FEFF}<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>AuthenticationFailed\
             </Code><Message>Server failed &amp; said so.\nRequestId:r\nTime:t</Message>\
             <AuthenticationErrorDetail>secret</AuthenticationErrorDetail></Error>",
        );
        assert_eq!(error.code.as_str(), "AuthenticationFailed");
        assert_eq!(error.message, "Server failed & said so.");
        assert_eq!(error.request_id.as_deref(), Some("r"));
    }

    #[test]
    fn without_a_body_the_header_or_the_status_gives_the_code() {
        let error = fault(404, &[("x-ms-error-code", "TableNotFound")], "");
        assert_eq!(error.code, ErrorCode::TABLE_NOT_FOUND);
        assert_eq!(fault(413, &[], "").code, ErrorCode::REQUEST_BODY_TOO_LARGE);
        let error = fault(502, &[], "<html>Bad gateway</html>");
        assert_eq!((error.code, error.status), (ErrorCode::NO_ERROR_CODE, 502));
        assert!(error.message.starts_with("HTTP status 502 without"), "{}", error.message);
    }

    #[test]
    fn without_a_code_a_failure_is_not_blamed_on_the_endpoint() {
        let asks = |status| fault(status, &[], "").message.ends_with("at this endpoint?");
        assert!(asks(400) && asks(404));
        assert!(!asks(500) && !asks(502));
    }

    #[test]
    fn the_wait_asked_for_is_kept() {
        let wait = |headers: &[_]| fault(503, headers, "").retry_after;
        assert_eq!(wait(&[("Retry-After", "3")]), Some(Duration::from_secs(3)));
        let both = [("x-ms-retry-after-ms", "250"), ("retry-after", "1")];
        assert_eq!(wait(&both), Some(Duration::from_millis(250)));
        // A date is a wait from the date of the answer on, in whatever order the two come.
        let (retry_at, now) = (
            ("Retry-After", "Wed, 21 Oct 2026 07:28:05 GMT"),
            ("Date", "Wed, 21 Oct 2026 07:27:58 GMT"),
        );
        assert_eq!(wait(&[retry_at, now]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[now, retry_at]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("Retry-After", now.1), ("Date", retry_at.1)]), Some(Duration::ZERO));
        let millis = ("x-ms-retry-after-ms", "250");
        assert_eq!(wait(&[retry_at, now, millis]), Some(Duration::from_millis(250)));
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")]), None);
        assert_eq!(wait(&[("retry-after", "soon"), now]), None);
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn no_wait_is_longer_than_an_hour() {
        for header in [
            ("Retry-After", "86400"),
            ("Retry-After", "18446744073709551615"),
            ("x-ms-retry-after-ms", "18446744073709551615"),
        ] {
            let wait = fault(503, &[header], "").retry_after;
            assert_eq!(wait, Some(Duration::from_secs(3600)), "{header:?}");
        }
        for header in [("Retry-After", "-1"), ("Retry-After", "18446744073709551616")] {
            assert_eq!(fault(503, &[header], "").retry_after, None, "{header:?}");
        }
    }

    #[test]
    fn the_index_of_a_failed_operation_is_optional() {
        let part = |value: &str| {
            let body =
                format!(r#"{{"odata.error":{{"code":"C","message":{{"value":"{value}"}}}}}}"#);
            let error = WireResponse::new(400, [], Bytes::from(body)).operation_fault();
            (error.operation, error.message)
        };
        assert_eq!(part("17:It exists."), (Some(17), "It exists.".to_owned()));
        assert_eq!(part("It: exists."), (None, "It: exists.".to_owned()));
        assert_eq!(part(":x"), (None, ":x".to_owned()));
        assert_eq!(part("99999999999999999999999:x").0, None);
    }
}
