//! The parts of a client: a policy that authorizes its requests, and a pipeline that sends them.
//!
//! Invariants: a pipeline sends each request once; a token or a signature, which anybody who sees it can use, goes
//! over plain http to this machine only, unless the signature itself allows http.

use super::auth::{AppendSas, Credential, CredentialKind, SignSharedKey, TokenInTime, allows_http};
use super::endpoint::{AccountService, dialect, is_this_machine};
use super::error::ConnectError;
use super::options::ConnectOptions;
use super::protocol::Dialect;
use super::transport::Http;
use azure_core::http::policies::Policy;
use azure_core::http::policies::auth::BearerTokenAuthorizationPolicy;
use azure_core::http::{ClientOptions, Pipeline, RetryOptions, Transport, Url};
use std::sync::Arc;
use std::time::Duration;

/// Builds what sends each request once, authorized by these policies.
pub(crate) fn pipeline(
    url: &Url,
    authorize: Vec<Arc<dyn Policy>>,
    options: ConnectOptions,
) -> Result<Pipeline, ConnectError> {
    let client = client_options(url, options)?;
    let (name, version) = (option_env!("CARGO_PKG_NAME"), option_env!("CARGO_PKG_VERSION"));
    Ok(Pipeline::new(name, version, client, Vec::new(), authorize, None))
}

/// Builds the options of one of Microsoft's clients, which then sends each request once, authorized for that service,
/// and refuses longer answers than that.
#[cfg(any(feature = "azure-queue", feature = "azure-blob"))]
pub(crate) fn authorized_options(
    url: &Url,
    service: AccountService,
    credential: Credential,
    most_answer_bytes: usize,
    options: ConnectOptions,
) -> Result<ClientOptions, ConnectError> {
    let authorization = authorization(options.request_timeout, service, url, credential)?;
    let max_answer_bytes = options.max_answer_bytes.min(most_answer_bytes);
    let mut client = client_options(url, ConnectOptions { max_answer_bytes, ..options })?;
    // After the app's own policies, so their headers are signed too.
    client.per_try_policies.push(authorization);
    Ok(client)
}

/// Builds the options of a client that sends each request once, over connections of its own.
fn client_options(url: &Url, options: ConnectOptions) -> Result<ClientOptions, ConnectError> {
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
        client.transport = Some(Transport::new(Arc::new(Http::new(url, &options)?)));
    }
    Ok(client)
}

/// Returns whether the pipeline accepts an application id. It panics at others.
fn is_application_id(text: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=24).contains(&text.len()) && text.bytes().all(token)
}

/// Builds the policy that authorizes each try of a request to a service. It waits for a token of
/// Entra ID no longer than `limit`.
pub(crate) fn authorization(
    limit: Duration,
    service: AccountService,
    endpoint: &Url,
    credential: Credential,
) -> Result<Arc<dyn Policy>, ConnectError> {
    Ok(match credential.0 {
        CredentialKind::SharedKey(key) => Arc::new(SignSharedKey { key, service }),
        CredentialKind::Sas(signature)
            if endpoint.scheme() != "https"
                && !is_this_machine(endpoint)
                && !allows_http(signature.secret()) =>
        {
            return Err(ConnectError::SignatureOverHttp);
        }
        CredentialKind::Sas(signature) => Arc::new(AppendSas(signature)),
        CredentialKind::Token(_) if endpoint.scheme() != "https" => {
            return Err(ConnectError::TokenOverHttp);
        }
        CredentialKind::Token(credential) => {
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
