//! The Azure store: Azure Table Storage, Cosmos DB for Table, or Azurite, over HTTP.
//!
//! [`protocol`] says what to send; this is the transport around it: the pipeline
//! of `azure_core`, pooled connections, and a signature made afresh for each try.
//!
//! Invariants: every method of the store sends one request (`list_tables` one a page) and never
//! retries by itself; keys, signatures and tokens are in no error, log or `Debug` output.
//!
//! The guide's chapter [Connecting to the service](crate::guide::service) says what an app needs to know
//! to run against it.
//!
//! ```
//! use table_orm::Tables;
//! let tables = Tables::from_connection_string("UseDevelopmentStorage=true")?;
//! # Ok::<(), table_orm::Error>(())
//! ```

mod auth;
pub(crate) mod connect;
mod connection_string;
pub(crate) mod endpoint;
mod error;
mod options;
pub mod protocol;
#[cfg(feature = "azure-queue")]
mod queues;
mod tables;
#[cfg(test)]
mod tests;
mod transport;

pub use auth::{Credential, Permissions, SasError, SharedKey, TableSas};
/// The error of a [`TokenCredential`] or a [`Policy`]: `azure_core::Error`.
#[doc(inline)]
pub use azure_core::Error as CoreError;
/// A token, and until when it is good: what a [`TokenCredential`] gives.
#[doc(inline)]
pub use azure_core::credentials::AccessToken;
/// What gives the tokens of Entra ID, such as the credentials of the crate `azure_identity`.
#[doc(inline)]
pub use azure_core::credentials::TokenCredential;
/// How a token is asked for: an argument of [`TokenCredential::get_token`].
#[doc(inline)]
pub use azure_core::credentials::TokenRequestOptions;
/// The kind of a [`CoreError`].
#[doc(inline)]
pub use azure_core::error::ErrorKind as CoreErrorKind;
/// More settings of the HTTP pipeline: [`ConnectOptions::client`].
#[doc(inline)]
pub use azure_core::http::ClientOptions;
/// What the policies of one call tell each other: an argument of [`Policy::send`].
#[doc(inline)]
pub use azure_core::http::Context;
/// A request on its way through the policies.
#[doc(inline)]
pub use azure_core::http::Request as HttpRequest;
/// A step that every request passes on its way out, and its answer on the way back.
#[doc(inline)]
pub use azure_core::http::policies::Policy;
/// What [`Policy::send`] returns: the answer, or a [`CoreError`].
#[doc(inline)]
pub use azure_core::http::policies::PolicyResult;
pub use connection_string::ConnectionString;
pub use error::{ConnectError, ConnectionStringError};
pub use options::ConnectOptions;
pub use protocol::{CorsMethod, CorsRule};
#[cfg(feature = "azure-queue")]
pub use queues::AzureQueues;
pub use tables::AzureStore;
