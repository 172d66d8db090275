//! The HTTP client: pooled connections of reqwest, with rustls.

use super::{ConnectError, ConnectOptions};
use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind, Result};
use azure_core::http::headers::{HeaderName, HeaderValue, Headers};
use azure_core::http::{AsyncRawResponse, Body, HttpClient, Method, Request, Url};
use reqwest::header::{self, HeaderMap};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::{BuilderVerifierExt as _, Verifier};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The service closes idle connections after some minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Azurite closes them after 5 s; a request must not meet the closing.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A pool of connections to one service.
pub(super) struct Http(reqwest::Client);

impl Http {
    pub(super) fn new(
        endpoint: &Url,
        options: &ConnectOptions,
    ) -> std::result::Result<Self, ConnectError> {
        let secure = endpoint.scheme() == "https";
        let roots = certificates(&options.root_certificates)?;
        let tls = tls(secure, roots).map_err(|error| ConnectError::Transport(error.into()))?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .tcp_nodelay(true)
            .connect_timeout(options.connect_timeout)
            .timeout(options.request_timeout)
            .pool_max_idle_per_host(options.max_idle_connections)
            .pool_idle_timeout(if secure { IDLE_TIMEOUT } else { PLAIN_IDLE_TIMEOUT })
            .retry(reqwest::retry::never().max_retries_per_request(0))
            // A redirect would carry the authorization to another host.
            .redirect(reqwest::redirect::Policy::none());
        if matches!(endpoint.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| ConnectError::Transport(error.into()))?;
        Ok(Self(client))
    }
}

/// The certificates of a PEM text, which holds one at least unless it is empty.
fn certificates(text: &str) -> std::result::Result<Vec<CertificateDer<'static>>, ConnectError> {
    let certificates: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match certificates {
        Ok(certificates) if text.is_empty() || !certificates.is_empty() => Ok(certificates),
        _ => Err(ConnectError::RootCertificates),
    }
}

/// TLS that trusts what the system trusts, and those roots; nothing at all where it is not used.
fn tls(
    secure: bool,
    roots: Vec<CertificateDer<'static>>,
) -> std::result::Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = if !secure {
        builder.with_root_certificates(RootCertStore::empty())
    } else if roots.is_empty() {
        builder.with_platform_verifier()?
    } else {
        let verifier = Verifier::new_with_extra_roots(roots, provider)?;
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
    };
    Ok(builder.with_no_client_auth())
}

#[async_trait]
impl HttpClient for Http {
    async fn execute_request(&self, request: &Request) -> Result<AsyncRawResponse> {
        let response = self.0.execute(outgoing(request)?).await.map_err(failed)?;
        let status = response.status().as_u16();
        let headers = incoming(response.headers());
        let body = response.bytes().await.map_err(failed)?;
        Ok(AsyncRawResponse::from_bytes(status.into(), headers, body))
    }
}

/// The request as the HTTP client takes it.
fn outgoing(request: &Request) -> Result<reqwest::Request> {
    let method = match request.method() {
        Method::Delete => reqwest::Method::DELETE,
        Method::Get => reqwest::Method::GET,
        Method::Patch => reqwest::Method::PATCH,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        method => return Err(unknown(format!("the service has no {method}"))),
    };
    let mut outgoing = reqwest::Request::new(method, request.url().clone());
    let headers = outgoing.headers_mut();
    // One allocation for those of most requests.
    headers.reserve(16);
    for (name, value) in request.headers().iter() {
        let name = name.as_str().parse::<header::HeaderName>();
        let value = value.as_str().parse::<header::HeaderValue>();
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(unknown("a header has a name or value that HTTP does not know"));
        };
        headers.insert(name, value);
    }
    match request.body() {
        Body::Bytes(bytes) if bytes.is_empty() => {}
        Body::Bytes(bytes) => *outgoing.body_mut() = Some(bytes.clone().into()),
        Body::SeekableStream(_) => return Err(unknown("the service takes no streams")),
    }
    Ok(outgoing)
}

/// The headers of an answer, but for those that are no text.
fn incoming(headers: &HeaderMap) -> Headers {
    let mut incoming = HashMap::with_capacity(headers.len());
    for (name, value) in headers {
        let (name, Ok(value)) = (name.as_str(), value.to_str()) else { continue };
        let name = match USUAL.binary_search(&name) {
            Ok(usual) => HeaderName::from_static(USUAL[usual]),
            Err(_) => HeaderName::from(name.to_owned()),
        };
        incoming.insert(name, HeaderValue::from(value.to_owned()));
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

/// The error of a request that a policy has changed into one the service does not know.
fn unknown(message: impl Into<Cow<'static, str>>) -> Error {
    Error::with_message(ErrorKind::Other, message)
}

/// The error without its URL, which may hold a shared access signature.
fn failed(error: reqwest::Error) -> Error {
    let kind = if error.is_connect() { ErrorKind::Connection } else { ErrorKind::Io };
    let message = match kind {
        _ if error.is_timeout() => "the request timed out",
        ErrorKind::Connection => "no connection could be made",
        _ => "the connection failed",
    };
    Error::with_error(kind, error.without_url(), message)
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}
