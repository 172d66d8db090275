//! Requests and responses as values.

use bytes::Bytes;
use http::header::AsHeaderName;
use http::{HeaderMap, Method};
use std::net::IpAddr;

/// A request with its whole body.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path and query, as they were sent.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty without one.
    pub body: Bytes,
    /// Who sent it.
    pub client: Client,
}

/// Who sent a request, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The address.
    pub address: IpAddr,
    /// Whether the connection is encrypted.
    pub https: bool,
}

impl Request {
    /// Returns a header's value; `None` if it is absent or not ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Returns the path as it was sent.
    #[must_use]
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    /// Returns the query as it was sent, without its question mark.
    #[must_use]
    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}

/// Returns a header's value; `None` if it is absent or not ASCII.
pub(crate) fn header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// What a request leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A response to send.
    Response(Response),
    /// The connection is to be closed without a response.
    Close,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers: names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
    /// The body; empty without one.
    pub body: Bytes,
}

impl Response {
    /// A response without a body.
    #[must_use]
    pub const fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new() }
    }

    /// A response with a body of that media type.
    pub(crate) fn with_body(status: u16, media_type: &str, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..Self::empty(status).with("content-type", media_type) }
    }

    /// The same response with another header.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns a header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}
