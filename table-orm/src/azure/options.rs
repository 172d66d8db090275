//! How requests reach a service.

use azure_core::http::ClientOptions;
use std::time::Duration;

/// How an Azure store connects: directly, or to an https endpoint through the tunnel of the proxy
/// that the environment names in `HTTPS_PROXY` or `ALL_PROXY`, where `NO_PROXY` does not exempt it.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// How long to wait for a connection. 10 s unless told, never zero.
    pub connect_timeout: Duration,
    /// How long to wait for a complete answer. 60 s unless told, twice what the service takes at
    /// most for one request; never zero. As long at most is waited for a token of Entra ID, where
    /// one is needed first.
    pub request_timeout: Duration,
    /// The most idle connections that are kept for later requests of a runtime. 64 unless told.
    pub max_idle_connections: usize,
    /// Certificates, as PEM text, of authorities that are trusted beside the system's, such as that
    /// of a company's proxy or of an Azurite with `--cert`. Empty unless told.
    pub root_certificates: String,
    /// Logging, tracing, more policies, or another HTTP client, for which the four settings above
    /// do nothing, but for the wait for a token. Its retry options are not used.
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
