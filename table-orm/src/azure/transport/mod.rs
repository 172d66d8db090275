//! The HTTP client: pooled connections of hyper, with rustls.

mod connector;
mod message;
mod runtimes;
mod tls;

use super::endpoint::is_this_machine;
use super::error::ConnectError;
use super::options::ConnectOptions;
use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind, Result};
use azure_core::http::{AsyncRawResponse, HttpClient, Request, Url};
use connector::Connector;
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use runtimes::Runtimes;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;
use tokio::time::timeout;

/// The service closes idle connections after some minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Azurite closes them after 5 s; a request must not meet the closing.
const PLAIN_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Pools of connections to one service, through the proxy that the environment wants for it, but
/// to this machine directly. Follows no redirects, which would carry the authorization to another
/// host, and sends nothing again once it has begun to.
pub(crate) struct Http {
    runtimes: Runtimes,
    timeout: Duration,
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
        Ok(Self { runtimes: Runtimes::new(client, connector), timeout: options.request_timeout })
    }

    async fn answer(&self, request: &Request) -> Result<AsyncRawResponse> {
        let connections = self.runtimes.connections();
        let answer = connections.request(message::outgoing(request)?).await;
        let (parts, body) = answer.map_err(unsent)?.into_parts();
        let body = body.collect().await.map_err(broken)?.to_bytes();
        let headers = message::incoming(&parts.headers);
        Ok(AsyncRawResponse::from_bytes(parts.status.as_u16().into(), headers, body))
    }
}

#[async_trait]
impl HttpClient for Http {
    async fn execute_request(&self, request: &Request) -> Result<AsyncRawResponse> {
        let late = || Error::with_error(ErrorKind::Io, Late(self.timeout), "the request timed out");
        timeout(self.timeout, self.answer(request)).await.map_err(|_| late())?
    }
}

/// A connection or an answer did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("not within {0:?}")]
struct Late(Duration);

/// The error of a request that a policy has changed into one the service does not know.
fn unknown(message: impl Into<Cow<'static, str>>) -> Error {
    Error::with_message(ErrorKind::Other, message)
}

fn unsent(error: hyper_util::client::legacy::Error) -> Error {
    if error.is_connect() {
        Error::with_error(ErrorKind::Connection, error, "no connection could be made")
    } else {
        broken(error)
    }
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::with_error(ErrorKind::Io, error, "the connection failed")
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Http")
    }
}
