//! Errors of opening a store or queues.
//!
//! Invariant: no error holds a secret, or text of the caller that may be one.

use std::error::Error;

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

/// A connection string that cannot be read. Shows none of its values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionStringError {
    /// A part without `=`, or with no name before it, by its place from 1.
    #[error("part {0} of the connection string is not `Name=value`")]
    NoSetting(usize),
    /// A setting that connection strings of Azure Storage do not have.
    #[error(
        "`{0}` is no setting of Azure Storage's connection strings; correct its name or leave it out"
    )]
    Unknown(String),
    /// A setting given twice.
    #[error("the connection string gives `{0}` twice")]
    Twice(&'static str),
    /// A setting that is needed and not there.
    #[error("the connection string does not give {0}")]
    Missing(&'static str),
    /// A setting whose value is to be base64 text.
    #[error("the connection string gives `{0}` a value that is not base64")]
    NotBase64(&'static str),
    /// A setting whose value cannot be used.
    #[error("the connection string gives `{0}` a value that cannot be used")]
    Invalid(&'static str),
    /// A setting whose value is no endpoint.
    #[error(
        "the connection string gives `{0}` a value that is not an http or https URL without user, \
         query and fragment; a signature has a setting of its own, `SharedAccessSignature`"
    )]
    Endpoint(&'static str),
}
