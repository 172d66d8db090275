//! Settings of the connections to a service.

use azure_core::http::ClientOptions;
use std::time::Duration;

/// The most bytes of an answer, unless the options say another number.
pub(crate) const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;

/// Settings of the connections to a service.
///
/// Connections to an https endpoint go through the proxy that `HTTPS_PROXY` or `ALL_PROXY` names,
/// unless `NO_PROXY` exempts the endpoint. All others are direct.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// The longest wait for a connection. 10 s by default, never zero.
    pub connect_timeout: Duration,
    /// The longest wait for a complete answer, and for a token of Entra ID where a request needs
    /// one first. 60 s by default, twice the service's own limit for one request; never zero.
    pub request_timeout: Duration,
    /// The most idle connections that each runtime keeps for later requests. 64 by default.
    pub max_idle_connections: usize,
    /// The most bytes of an answer that are read. 128 MiB by default; at least 4 MiB, so that any
    /// row can be read. The service ends a page after 1000 rows or 5 s, at some MiB. Azurite's pages
    /// of large rows may exceed the default: ask for fewer rows of a page there.
    ///
    /// A longer answer fails with [`ErrorCode::ANSWER_TOO_LONG`](crate::store::ErrorCode).
    pub max_answer_bytes: usize,
    /// PEM text with certificates to trust beside the system's, such as that of a company's proxy
    /// or of an Azurite with `--cert`. Empty by default.
    pub root_certificates: String,
    /// The endpoint of the account's copy in another region, for tables. With `None`, the default, it is the
    /// endpoint with `-secondary` after the account's name. Its scheme is that of the endpoint. Nothing is sent there
    /// unless [`ReadFrom`](crate::layer::ReadFrom) says so.
    pub secondary_endpoint: Option<String>,
    /// Logging, tracing, more policies, or another HTTP client. The retry options are ignored. With another
    /// HTTP client, only three of the settings above have an effect: `request_timeout` on the wait for a token,
    /// `max_answer_bytes` on the size of an answer with rows, and `secondary_endpoint`.
    pub client: ClientOptions,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            max_idle_connections: 64,
            max_answer_bytes: MAX_ANSWER_BYTES,
            root_certificates: String::new(),
            secondary_endpoint: None,
            client: ClientOptions::default(),
        }
    }
}
