//! The HTTP client: own code over hyper and rustls, for a pool of connections per runtime, tunnels
//! through proxies, and TLS with ring alone.
//!
//! Invariants: it follows no redirect, which would carry the authorization to another host; it
//! never sends a request again once it has begun to send it; it holds no more of an answer than the
//! options allow.

mod connector;
mod message;
mod runtimes;
mod tls;

use super::body::TooLong;
use super::endpoint::is_this_machine;
use super::error::ConnectError;
use super::options::ConnectOptions;
use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind, Result};
use azure_core::http::{AsyncRawResponse, HttpClient, Request, Url};
use bytes::Bytes;
use connector::Connector;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use runtimes::Runtimes;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// How long a connection stays idle: the service closes idle ones after some minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The same without TLS: Azurite closes idle connections after 5 s, and no request should meet a
/// closed one.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Pools of connections to one service, through the proxy that the environment names for it.
/// Connections to this machine are direct.
pub(crate) struct Http {
    runtimes: Runtimes,
    timeout: Duration,
    max_answer_bytes: usize,
}

impl Http {
    pub(crate) fn new(
        endpoint: &Url,
        options: &ConnectOptions,
    ) -> std::result::Result<Self, ConnectError> {
        let secure = endpoint.scheme() == "https";
        let proxies = if is_this_machine(endpoint) {
            Matcher::builder().build()
        } else {
            Matcher::from_env()
        };
        let mut client = Client::builder(TokioExecutor::new());
        client
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(if secure { IDLE_TIMEOUT } else { PLAIN_IDLE_TIMEOUT })
            .pool_max_idle_per_host(options.max_idle_connections);
        let connector = Connector::new(endpoint, options, &proxies)?;
        Ok(Self {
            runtimes: Runtimes::new(client, connector),
            timeout: options.request_timeout,
            max_answer_bytes: options.max_answer_bytes,
        })
    }

    async fn answer(&self, request: &Request) -> Result<AsyncRawResponse> {
        let connections = self.runtimes.connections();
        let answer = connections.request(message::outgoing(request)?).await;
        let (parts, body) = answer.map_err(unsent)?.into_parts();
        let body = self.whole(body).await?;
        let headers = message::incoming(&parts.headers);
        Ok(AsyncRawResponse::from_bytes(parts.status.as_u16().into(), headers, body))
    }

    async fn whole(&self, body: Incoming) -> Result<Bytes> {
        let most = self.max_answer_bytes;
        if body.size_hint().lower() > most as u64 {
            return Err(TooLong(most).into());
        }
        let body = Limited::new(body, most).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() { TooLong(most).into() } else { broken(error) }
        })?;
        Ok(body.to_bytes())
    }
}

#[async_trait]
impl HttpClient for Http {
    async fn execute_request(&self, request: &Request) -> Result<AsyncRawResponse> {
        let late = || Error::with_error(ErrorKind::Io, Late(self.timeout), "the request timed out");
        timeout(self.timeout, self.answer(request)).await.map_err(|_| late())?
    }
}

/// The error of a connection or an answer that did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("took longer than {0:?}")]
struct Late(Duration);

/// Builds the error of a request that a policy has changed into one that the service cannot take.
fn unknown(message: impl Into<Cow<'static, str>>) -> Error {
    Error::with_message(ErrorKind::Other, message)
}

fn unsent(error: hyper_util::client::legacy::Error) -> Error {
    if error.is_connect() {
        Error::with_error(ErrorKind::Connection, error, "connecting failed")
    } else {
        broken(error)
    }
}

fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::with_error(ErrorKind::Io, error, "the connection failed")
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}
