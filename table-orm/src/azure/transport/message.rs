//! Requests and answers, from the pipeline's types to those of HTTP and back.

use super::unknown;
use azure_core::error::Result;
use azure_core::http::headers::{HeaderName, HeaderValue, Headers};
use azure_core::http::{Body, Method, Request};
use bytes::Bytes;
use http_body_util::Full;
use hyper::http;
use std::collections::HashMap;

/// The request as the HTTP client takes it.
pub(crate) fn outgoing(request: &Request) -> Result<http::Request<Full<Bytes>>> {
    let body = match request.body() {
        Body::Bytes(bytes) => bytes.clone(),
        Body::SeekableStream(_) => return Err(unknown("the service takes no streams")),
    };
    let mut outgoing = http::Request::new(Full::new(body));
    *outgoing.method_mut() = match request.method() {
        Method::Delete => http::Method::DELETE,
        Method::Get => http::Method::GET,
        Method::Patch => http::Method::PATCH,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        method => return Err(unknown(format!("the service has no {method}"))),
    };
    *outgoing.uri_mut() = request
        .url()
        .as_str()
        .try_into()
        .map_err(|_| unknown("the request has a URL that HTTP does not know"))?;
    let headers = outgoing.headers_mut();
    // One allocation for those of most requests.
    headers.reserve(16);
    for (name, value) in request.headers().iter() {
        let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = http::HeaderValue::from_str(value.as_str());
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(unknown("a header has a name or value that HTTP does not know"));
        };
        headers.insert(name, value);
    }
    Ok(outgoing)
}

/// The headers of an answer. What is no text in them is made some: without the token of its next
/// page, a page would seem to be the last.
pub(crate) fn incoming(headers: &http::HeaderMap) -> Headers {
    let mut incoming = HashMap::with_capacity(headers.len());
    for (name, value) in headers {
        let (name, value) = (name.as_str(), String::from_utf8_lossy(value.as_bytes()));
        let name = match USUAL.binary_search(&name) {
            Ok(usual) => HeaderName::from_static(USUAL[usual]),
            Err(_) => HeaderName::from(name.to_owned()),
        };
        incoming.insert(name, HeaderValue::from(value.into_owned()));
    }
    incoming.into()
}

/// What most answers carry, in order; these names need not be copied.
const USUAL: [&str; 13] = [
    "cache-control",
    "content-length",
    "content-type",
    "dataserviceid",
    "date",
    "etag",
    "preference-applied",
    "server",
    "transfer-encoding",
    "x-content-type-options",
    "x-ms-client-request-id",
    "x-ms-request-id",
    "x-ms-version",
];
