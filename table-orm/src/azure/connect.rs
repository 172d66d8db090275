//! From an endpoint and a credential to a store.

use super::account_service::AccountService;
use super::auth::{AppendSas, Kind, SignSharedKey, TokenInTime, allows_http};
use super::endpoint::{dialect, is_this_machine, parse_endpoint};
use super::{AzureStore, ConnectionStringError, Credential, transport};
use crate::azure::protocol::{Dialect, Service};
use azure_core::http::policies::Policy;
use azure_core::http::policies::auth::BearerTokenAuthorizationPolicy;
use azure_core::http::{ClientOptions, Pipeline, RetryOptions, Transport, Url};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Why a store cannot be made. No variant shows a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A connection string that cannot be read.
    #[error(transparent)]
    ConnectionString(#[from] ConnectionStringError),
    /// Not an endpoint.
    #[error(
        "the endpoint is not an http or https URL without query, such as \
         `https://account.table.core.windows.net`"
    )]
    Endpoint,
    /// Not an account name: 3 to 24 letters and digits, or more for Cosmos DB.
    #[error("the account name is empty or holds other characters than letters, digits and `-`")]
    AccountName,
    /// Not an account key.
    #[error("the account key is not base64 text")]
    AccountKey,
    /// Not a shared access signature.
    #[error(
        "the shared access signature is not a query string such as `sv=..&sig=..`, with a `sig` that \
         is not empty, or an http or https URL with one"
    )]
    SharedAccessSignature,
    /// A token, which whoever sees it could use, over a connection that anybody can read.
    #[error("tokens are sent over https only, and this endpoint is http")]
    TokenOverHttp,
    /// No time at all for each request, by the option's name.
    #[error("the option `{0}` is zero, in which no request can be answered; give it some seconds")]
    Timeout(&'static str),
    /// A shared access signature for https only, over a connection that anybody can read.
    #[error(
        "a shared access signature goes to other hosts than this machine over https only, and this \
         endpoint is http; use https, or a signature that allows http itself: `spr=https,http`"
    )]
    SignatureOverHttp,
    /// Text that holds no certificate, or one that cannot be read.
    #[error("the root certificates are not PEM text with at least one certificate")]
    RootCertificates,
    /// A proxy of another kind, such as SOCKS, in `HTTPS_PROXY` or `ALL_PROXY`.
    #[error("the proxy that the environment names is not an http or https URL")]
    Proxy,
    /// An id of the app, of the options' `client.user_agent`, that cannot stand in `User-Agent`.
    #[error(
        "the `application_id` of the user agent is not 1 to 24 letters, digits and characters of \
         !#$%&'*+-.^_`|~; a `/` is none of them"
    )]
    ApplicationId,
    /// A client of the `azure_data_tables` crate whose requests cannot be repaired.
    #[cfg(feature = "azure-data-tables")]
    #[error("the client was not built with the options of `DataTablesStore::options`")]
    ClientOptions,
    /// The HTTP client cannot start, as when the system has no root certificates.
    #[error("the HTTP client cannot start")]
    Transport(#[source] Box<dyn Error + Send + Sync>),
}

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

pub(crate) fn connect(
    endpoint: &str,
    credential: Credential,
    options: ConnectOptions,
) -> Result<AzureStore, ConnectError> {
    let url = parse_endpoint(endpoint)?;
    let advice = credential.advice().into();
    let limit = options.request_timeout;
    let authorize = authorization(limit, AccountService::Tables, &url, credential)?;
    Ok(AzureStore { advice, ..start(&url, vec![authorize], options)? })
}

/// The store at an endpoint whose requests these policies authorize.
pub(crate) fn start(
    url: &Url,
    authorize: Vec<Arc<dyn Policy>>,
    options: ConnectOptions,
) -> Result<AzureStore, ConnectError> {
    let client = client_options(url, options)?;
    let (name, version) = (option_env!("CARGO_PKG_NAME"), option_env!("CARGO_PKG_VERSION"));
    let pipeline = Pipeline::new(name, version, client, Vec::new(), authorize, None);
    let service = Service::new(url.as_str(), dialect(url));
    Ok(AzureStore { endpoint: url.clone(), service, pipeline, advice: "".into() })
}

/// The options of a client that sends each request once, over connections of its own.
pub(crate) fn client_options(
    url: &Url,
    options: ConnectOptions,
) -> Result<ClientOptions, ConnectError> {
    if options.connect_timeout.is_zero() {
        return Err(ConnectError::Timeout("connect_timeout"));
    }
    if options.request_timeout.is_zero() {
        return Err(ConnectError::Timeout("request_timeout"));
    }
    if !options.client.user_agent.application_id.as_deref().is_none_or(is_application_id) {
        return Err(ConnectError::ApplicationId);
    }
    let mut client = options.client.clone();
    client.retry = RetryOptions::none();
    if client.transport.is_none() {
        client.transport = Some(Transport::new(Arc::new(transport::Http::new(url, &options)?)));
    }
    Ok(client)
}

/// Whether the pipeline takes it, which panics otherwise.
fn is_application_id(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=24).contains(&text.len()) && text.bytes().all(token)
}

/// The policy that authorizes each try of a request to that service, with tokens that come in that
/// time.
pub(crate) fn authorization(
    limit: Duration,
    service: AccountService,
    endpoint: &Url,
    credential: Credential,
) -> Result<Arc<dyn Policy>, ConnectError> {
    Ok(match credential.0 {
        Kind::SharedKey(key) => Arc::new(SignSharedKey { key, service }),
        Kind::Sas(signature)
            if endpoint.scheme() != "https"
                && !is_this_machine(endpoint)
                && !allows_http(signature.secret()) =>
        {
            return Err(ConnectError::SignatureOverHttp);
        }
        Kind::Sas(signature) => Arc::new(AppendSas(signature)),
        Kind::Token(_) if endpoint.scheme() != "https" => return Err(ConnectError::TokenOverHttp),
        Kind::Token(credential) => {
            let scope = match dialect(endpoint) {
                Dialect::Storage => "https://storage.azure.com/.default",
                Dialect::Cosmos => "https://cosmos.azure.com/.default",
            };
            let in_time = Arc::new(TokenInTime { scope, limit });
            let policy = BearerTokenAuthorizationPolicy::new(credential, [scope]);
            Arc::new(policy.with_on_request(in_time))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::azure::{SharedKey, TokenCredential};
    use crate::store::Store as _;
    use azure_core::credentials::{AccessToken, TokenRequestOptions};

    fn connected(options: ConnectOptions) -> Result<AzureStore, ConnectError> {
        let key = SharedKey::new("acc", "c2VjcmV0").unwrap();
        connect("https://acc.table.core.windows.net", key.into(), options)
    }

    #[test]
    fn an_application_id_that_no_user_agent_can_hold_is_refused() {
        let connected = |id: &str| {
            let mut options = ConnectOptions::default();
            options.client.user_agent.application_id = Some(id.to_owned());
            connected(options)
        };
        for id in ["ops-1.0", "!#$%&'*+-.^_`|~", "exactly_24_characters!!!"] {
            assert!(connected(id).is_ok(), "{id}");
        }
        for id in [
            "",
            "ops/1.0",
            "ops 1",
            "zürich",
            "one more than 24 of them",
            "a_23456789_23456789_23456",
        ] {
            assert!(matches!(connected(id), Err(ConnectError::ApplicationId)), "{id}");
        }
    }

    #[test]
    fn timeouts_in_which_no_request_can_be_answered_are_refused() {
        let (zero, default) = (Duration::ZERO, ConnectOptions::default());
        let refused = |options| connected(options).err();
        let request = ConnectOptions { request_timeout: zero, ..default.clone() };
        assert!(matches!(refused(request), Some(ConnectError::Timeout("request_timeout"))));
        let connect = ConnectOptions { connect_timeout: zero, ..default };
        assert!(matches!(refused(connect), Some(ConnectError::Timeout("connect_timeout"))));
    }

    #[test]
    fn a_signature_for_https_only_is_not_sent_over_a_network_in_the_clear() {
        let connected = |endpoint: &str, signature: &str| {
            let credential = Credential::sas(signature).unwrap();
            connect(endpoint, credential, ConnectOptions::default())
        };
        for (endpoint, signature) in [
            ("https://acc.table.core.windows.net", "sv=1&spr=https&sig=x"),
            ("http://127.0.0.1:10002/acc", "sv=1&spr=https&sig=x"),
            ("http://127.3.2.1:10002/acc", "sv=1&sig=x"),
            ("http://[::1]:10002/acc", "sv=1&sig=x"),
            ("http://localhost:10002/acc", "sv=1&sig=x"),
            ("http://acc.table.localhost:10002", "sv=1&sig=x"),
            ("http://azurite:10002/acc", "sv=1&spr=https,http&sig=x"),
            ("http://azurite:10002/acc", "sv=1&spr=https%2Chttp&sig=x"),
        ] {
            assert!(connected(endpoint, signature).is_ok(), "{endpoint} {signature}");
        }
        for (endpoint, signature) in [
            ("http://acc.table.core.windows.net", "sv=1&spr=https&sig=x"),
            ("http://acc.table.core.windows.net", "sv=1&sig=x"),
            ("http://localhost.example", "sv=1&sig=x"),
            ("http://azurite:10002/acc", "sv=1&spr=https&sig=http"),
        ] {
            let refused =
                matches!(connected(endpoint, signature), Err(ConnectError::SignatureOverHttp));
            assert!(refused, "{endpoint} {signature}");
        }
    }

    /// A credential that gives that token, or none ever.
    #[derive(Debug)]
    struct Gives(Option<&'static str>);

    #[async_trait::async_trait]
    impl TokenCredential for Gives {
        async fn get_token(
            &self,
            _: &[&str],
            _: Option<TokenRequestOptions<'_>>,
        ) -> azure_core::Result<AccessToken> {
            let Some(token) = self.0 else { return std::future::pending().await };
            let expires = time::OffsetDateTime::now_utc() + time::Duration::hours(1);
            Ok(AccessToken::new(token, expires))
        }
    }

    /// What two requests at once, to a host that is not met, tell of the credential.
    async fn told(credential: Gives) -> [String; 2] {
        let limit = Duration::from_secs(5);
        let options = ConnectOptions { request_timeout: limit, ..ConnectOptions::default() };
        let credential = Arc::new(credential).into();
        let store = connect("https://acc.table.core.windows.net", credential, options).unwrap();
        let start = tokio::time::Instant::now();
        let (one, other) = tokio::join!(store.list_tables(), store.list_tables());
        assert!(start.elapsed() < limit * 2);
        [one, other].map(|answer| {
            let error = answer.unwrap_err();
            assert_eq!(error.code.as_str(), "CredentialUnavailable");
            format!("{error} {error:?}")
        })
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_waits_for_a_token_longer_than_for_an_answer() {
        for told in told(Gives(None)).await {
            assert!(told.contains("the credential gave none within 5s"), "{told}");
        }
    }

    #[tokio::test]
    async fn a_token_that_no_header_can_hold_is_told_of_and_not_shown() {
        for token in ["SeCrEt\n", "Bearer SeCrEt", "SeCr\u{e9}t", ""] {
            for told in told(Gives(Some(token))).await {
                assert!(told.contains("the credential gave one that is empty or holds"), "{told}");
                assert!(!told.contains("SeCr"), "{told}");
            }
        }
    }
}
