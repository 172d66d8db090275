//! Requests and responses of the wire as values.

use super::retry_after::RetryAfter;
use super::{Dialect, http_date};
use crate::model::DateTime;
use bytes::Bytes;
use std::borrow::Cow;
use std::time::Duration;

/// An HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
}

impl Method {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// The most bytes of one row in an answer. The longest is an entity of 1 MiB whose text has only
/// characters that JSON escapes, each 2 bytes as 6, and whose 252 properties have the longest names
/// twice.
pub(crate) const MAX_ROW_ANSWER: usize = 4 * 1024 * 1024;

/// A header's name, in lower case, and its value.
pub(crate) type Header = (&'static str, Cow<'static, str>);

/// A request without its date and authorization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRequest {
    /// The method.
    pub method: Method,
    /// The path and query, encoded, to append to the service's endpoint.
    pub target: String,
    /// The headers: names in lower case, and values.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body; empty without one.
    pub body: Bytes,
    /// The most bytes that an answer of the service can have.
    pub answer_bytes: usize,
}

/// A response with its whole body.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WireResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Bytes,
    pub(crate) etag: Option<String>,
    pub(crate) error_code: Option<String>,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// When it was answered, by the clock of whoever answered.
    date: Option<DateTime>,
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    pub(crate) next_table_name: Option<String>,
}

impl WireResponse {
    /// Keeps the headers that this protocol uses. The case of their names does not matter.
    pub fn new<'h>(
        status: u16,
        headers: impl IntoIterator<Item = (&'h str, &'h str)>,
        body: Bytes,
    ) -> Self {
        let mut response = Self { status, body, ..Self::default() };
        let (mut now, mut retry_after) = (None, RetryAfter::default());
        for (name, value) in headers {
            response.take_header(name, value);
            retry_after.take_header(name, value);
            if name.eq_ignore_ascii_case("date") {
                now = Some(value);
            }
        }
        let now = now.and_then(http_date::parse);
        response.date = now.and_then(http_date::instant);
        response.retry_after = retry_after.wait(now);
        response
    }

    fn take_header(&mut self, name: &str, value: &str) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let slot = if is("etag") {
            &mut self.etag
        } else if is("x-ms-error-code") {
            &mut self.error_code
        } else if is("x-ms-request-id") {
            &mut self.request_id
        } else if is("x-ms-continuation-nextpartitionkey") {
            &mut self.next_partition_key
        } else if is("x-ms-continuation-nextrowkey") {
            &mut self.next_row_key
        } else if is("x-ms-continuation-nexttablename") {
            &mut self.next_table_name
        } else {
            return;
        };
        // An empty header counts as absent, as in Microsoft's clients.
        if !value.is_empty() {
            *slot = Some(value.to_owned());
        }
    }

    /// When the service answered, by its clock. Something between that answers in the service's place has a clock of
    /// its own, and states no request id. Neither does Cosmos DB, but a row or a version is its answer.
    pub(crate) fn service_time(&self, dialect: Dialect) -> Option<DateTime> {
        let is_of_service = match dialect {
            Dialect::Storage => self.request_id.is_some(),
            Dialect::Cosmos => {
                let holds_rows = || self.body.trim_ascii_start().starts_with(b"{");
                self.request_id.is_some()
                    || (self.is_success() && (self.etag.is_some() || holds_rows()))
            }
        };
        self.date.filter(|_| is_of_service)
    }

    /// Returns whether the status is 2xx.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        is_success(self.status)
    }
}

/// Returns whether a status is 2xx.
pub(crate) const fn is_success(status: u16) -> bool {
    status >= 200 && status < 300
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_answer_is_that_of_the_service() {
        let date = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let id = ("x-ms-request-id", "1");
        let answer = |status, headers: &[_], dialect| {
            let answer = WireResponse::new(status, headers.iter().copied(), Bytes::new());
            answer.service_time(dialect)
        };
        let time = Some("1994-11-06T08:49:37Z".parse().unwrap());
        let storage = |headers: &[_]| answer(200, headers, Dialect::Storage);
        assert_eq!(storage(&[date, id]), time);
        assert_eq!(storage(&[date]), None, "it may be of something between");
        assert_eq!(storage(&[("Date", "soon"), id]), None);
        // Cosmos DB states no request id.
        let etag = ("ETag", "W/\"x\"");
        assert_eq!(answer(204, &[date, etag], Dialect::Cosmos), time);
        for (status, headers) in [(200, &[date][..]), (503, &[date, etag])] {
            let time = answer(status, headers, Dialect::Cosmos);
            assert_eq!(time, None, "it may be of something between");
        }
    }
}
