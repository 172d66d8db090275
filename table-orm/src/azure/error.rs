//! Errors of opening a store or queues.
//!
//! Invariant: no error holds a secret, or text of the caller that may be one.

use crate::model::Printable;
use std::error::Error;

/// The reason why a store or queues cannot be opened. No variant shows a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The connection string cannot be read.
    #[error(transparent)]
    ConnectionString(#[from] ConnectionStringError),
    /// The endpoint is not the URL of a service.
    #[error(
        "the endpoint is not an http or https URL without a query; use one such as \
         `https://account.table.core.windows.net`"
    )]
    Endpoint,
    /// The secondary endpoint is not the URL of a service, or not as safe as the endpoint.
    #[error(
        "the secondary endpoint is not a URL without a query, or its scheme is not that of the endpoint; \
         use one such as `https://account-secondary.table.core.windows.net`"
    )]
    SecondaryEndpoint,
    /// The account name is empty, or has other characters than letters, digits and `-`.
    #[error(
        "the account name is empty or has characters other than letters, digits and `-`; take it from \
         the portal"
    )]
    AccountName,
    /// The account key is not base64 text.
    #[error(
        "the account key is not base64 text; copy `key1` or `key2` of the account from the portal"
    )]
    AccountKey,
    /// The text is not a shared access signature.
    #[error(
        "the shared access signature has no `sig`; use a query string such as `sv=..&sig=..`, or an \
         http or https URL with one"
    )]
    SharedAccessSignature,
    /// A token would travel over plain http, where anybody can read and use it.
    #[error("the endpoint is http, and tokens are sent over https only; use the https endpoint")]
    TokenOverHttp,
    /// A time limit is zero; holds the option's name.
    #[error("the option `{0}` is zero, so every request would time out; set it to some seconds")]
    Timeout(&'static str),
    /// A signature for https only would travel over plain http, where anybody can read and use it.
    #[error(
        "the endpoint is http and on another machine, and the shared access signature allows https \
         only; use https, or a signature with `spr=https,http`"
    )]
    SignatureOverHttp,
    /// The root certificates are not PEM text with at least one certificate.
    #[error(
        "the root certificates are not PEM text with at least one certificate; give the text of the file, \
         with its `BEGIN CERTIFICATE`"
    )]
    RootCertificates,
    /// `HTTPS_PROXY` or `ALL_PROXY` names a proxy of another kind, such as SOCKS.
    #[error(
        "the proxy in `HTTPS_PROXY` or `ALL_PROXY` is not an http or https URL; name such a proxy, or exempt \
         the host in `NO_PROXY`"
    )]
    Proxy,
    /// The option `client.user_agent` has an application id that the header `User-Agent` cannot
    /// hold.
    #[error(
        "the `application_id` of the user agent is invalid; use 1 to 24 letters, digits and \
         characters of !#$%&'*+-.^_`|~"
    )]
    ApplicationId,
    /// The client of the `azure_data_tables` crate lacks the policies that repair its requests.
    #[cfg(feature = "azure-data-tables")]
    #[error("the client was not built with the options of `DataTablesStore::options`")]
    ClientOptions,
    /// The HTTP client cannot start, for example on a system without root certificates.
    #[error("the HTTP client cannot start")]
    Transport(#[source] Box<dyn Error + Send + Sync>),
}

/// The reason why a connection string cannot be read. Shows no value of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionStringError {
    /// A part has no `=`, or no name before it; holds its place from 1.
    #[error(
        "part {0} of the connection string is not `Name=value`; copy the whole text from the portal"
    )]
    NoSetting(usize),
    /// Connection strings of Azure Storage have no setting of this name.
    #[error(
        "connection strings of Azure Storage have no setting `{}`; correct its name or remove it",
        Printable(.0)
    )]
    Unknown(String),
    /// A setting occurs twice.
    #[error("the connection string has `{0}` twice; remove one")]
    Twice(&'static str),
    /// A required setting is missing.
    #[error("the connection string lacks {0}; copy the whole text from the portal")]
    Missing(&'static str),
    /// The value of a setting is not base64 text.
    #[error(
        "the value of `{0}` in the connection string is not base64 text; copy the whole text from the portal"
    )]
    NotBase64(&'static str),
    /// The value of a setting is invalid.
    #[error(
        "the value of `{0}` in the connection string is invalid; copy the whole text from the portal"
    )]
    Invalid(&'static str),
    /// The value of a setting is not an endpoint.
    #[error(
        "the value of `{0}` in the connection string is not an http or https URL without user, query \
         and fragment; put a signature into `SharedAccessSignature`"
    )]
    Endpoint(&'static str),
}
