//! How requests reach a service.

use azure_core::http::ClientOptions;
use std::time::Duration;

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
    /// PEM text with certificates to trust beside the system's, such as that of a company's proxy
    /// or of an Azurite with `--cert`. Empty by default.
    pub root_certificates: String,
    /// Logging, tracing, more policies, or another HTTP client. With another HTTP client the four
    /// settings above have no effect, except on the wait for a token. The retry options are
    /// ignored.
    pub client: ClientOptions,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            max_idle_connections: 64,
            root_certificates: String::new(),
            client: ClientOptions::default(),
        }
    }
}
