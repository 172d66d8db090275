//! Conversion of requests and answers between the pipeline's types and those of HTTP.

use super::unknown;
use azure_core::error::Result;
use azure_core::http::headers::{HeaderName, HeaderValue, Headers};
use azure_core::http::{Body, Method, Request};
use bytes::Bytes;
use http_body_util::Full;
use hyper::http;
use std::collections::HashMap;

/// Converts a request for the HTTP client.
pub(crate) fn outgoing(request: &Request) -> Result<http::Request<Full<Bytes>>> {
    let body = match request.body() {
        Body::Bytes(bytes) => bytes.clone(),
        Body::SeekableStream(_) => return Err(unknown("the service does not take streams")),
    };
    let mut outgoing = http::Request::new(Full::new(body));
    *outgoing.method_mut() = match request.method() {
        Method::Delete => http::Method::DELETE,
        Method::Get => http::Method::GET,
        Method::Patch => http::Method::PATCH,
        Method::Post => http::Method::POST,
        Method::Put => http::Method::PUT,
        method => return Err(unknown(format!("the service does not support {method}"))),
    };
    *outgoing.uri_mut() = request
        .url()
        .as_str()
        .try_into()
        .map_err(|_| unknown("the URL of the request is invalid in HTTP"))?;
    let headers = outgoing.headers_mut();
    // Most requests then need one allocation.
    headers.reserve(16);
    for (name, value) in request.headers().iter() {
        let name = http::HeaderName::from_bytes(name.as_str().as_bytes());
        let value = http::HeaderValue::from_str(value.as_str());
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(unknown("the name or value of a header is invalid in HTTP"));
        };
        headers.insert(name, value);
    }
    Ok(outgoing)
}

/// Converts the headers of an answer. A value that is not UTF-8 is kept with replacement
/// characters: a page without the token of the next one would look like the last.
pub(crate) fn incoming(headers: &http::HeaderMap) -> Headers {
    let mut incoming = HashMap::with_capacity(headers.len());
    for (name, value) in headers {
        let (name, value) = (name.as_str(), value.as_bytes());
        // The lossy reading is slower, also where it replaces nothing.
        let value = match str::from_utf8(value) {
            Ok(value) => value.to_owned(),
            Err(_) => String::from_utf8_lossy(value).into_owned(),
        };
        let name = match USUAL.binary_search(&name) {
            Ok(usual) => HeaderName::from_static(USUAL[usual]),
            Err(_) => HeaderName::from(name.to_owned()),
        };
        incoming.insert(name, HeaderValue::from(value));
    }
    incoming.into()
}

/// The headers that most answers have, in order. Their names are not copied.
const USUAL: [&str; 15] = [
    "cache-control",
    "content-length",
    "content-type",
    "dataserviceid",
    "dataserviceversion",
    "date",
    "etag",
    "location",
    "preference-applied",
    "server",
    "transfer-encoding",
    "x-content-type-options",
    "x-ms-client-request-id",
    "x-ms-request-id",
    "x-ms-version",
];
