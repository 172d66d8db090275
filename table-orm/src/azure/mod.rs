//! The store in Azure Table Storage, Cosmos DB for Table or Azurite, over HTTP.
//!
//! [`protocol`] builds requests and reads answers, without I/O. The modules around it send them,
//! through the pipeline of `azure_core`, pooled connections, and a new signature for each try.
//!
//! Invariants: every method of the store sends one request (`list_tables` one for each page) and
//! never retries by itself; an answer is read up to the longest that
//! the service can send. Keys, signatures and tokens appear in no error, log or `Debug` output.
//!
//! The guide's chapter [Connecting](crate::guide::run::connecting) shows how an app uses it.
//!
//! ```
//! use table_orm::Tables;
//! let tables = Tables::from_connection_string("UseDevelopmentStorage=true")?;
//! # Ok::<(), table_orm::Error>(())
//! ```

mod auth;
#[cfg(feature = "azure-blob")]
mod blobs;
pub(crate) mod body;
#[cfg(any(feature = "azure-queue", feature = "azure-blob"))]
mod client_fault;
pub(crate) mod connect;
mod connection_string;
pub(crate) mod endpoint;
mod error;
pub(crate) mod options;
pub mod protocol;
#[cfg(feature = "azure-queue")]
mod queues;
mod tables;
#[cfg(test)]
mod tests;
mod transport;
mod unanswered;

pub use auth::{Credential, SasError, SharedKey, TableSas};
/// The error of a [`TokenCredential`] or a [`Policy`]: `azure_core::Error`.
#[doc(inline)]
pub use azure_core::Error as CoreError;
/// A token and its expiry, which a [`TokenCredential`] returns.
#[doc(inline)]
pub use azure_core::credentials::AccessToken;
/// A source of tokens of Entra ID, such as the credentials of the crate `azure_identity`.
#[doc(inline)]
pub use azure_core::credentials::TokenCredential;
/// Options of [`TokenCredential::get_token`].
#[doc(inline)]
pub use azure_core::credentials::TokenRequestOptions;
/// The kind of a [`CoreError`].
#[doc(inline)]
pub use azure_core::error::ErrorKind as CoreErrorKind;
/// More settings of the HTTP pipeline, for [`ConnectOptions::client`].
#[doc(inline)]
pub use azure_core::http::ClientOptions;
/// Values that the policies of one call share; an argument of [`Policy::send`].
#[doc(inline)]
pub use azure_core::http::Context;
/// A request that passes through the policies.
#[doc(inline)]
pub use azure_core::http::Request as HttpRequest;
/// A step of the pipeline, which every request and its answer pass.
#[doc(inline)]
pub use azure_core::http::policies::Policy;
/// The result of [`Policy::send`]: the answer, or a [`CoreError`].
#[doc(inline)]
pub use azure_core::http::policies::PolicyResult;
#[cfg(feature = "azure-blob")]
pub use blobs::AzureBlobs;
pub use connection_string::ConnectionString;
pub use error::{ConnectError, ConnectionStringError};
pub use options::ConnectOptions;
pub use protocol::{AccessPolicy, CorsMethod, CorsRule, Permissions};
#[cfg(feature = "azure-queue")]
pub use queues::AzureQueues;
pub use tables::AzureStore;
