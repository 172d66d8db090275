//! A table-orm store served over HTTP, as the Azure Table service.
//!
//! [`Server`] listens on a socket; [`TableService`] is the same without one: a request in, an answer
//! out. Clients in any language then use the tables of an app, or test against a service that keeps
//! the real one's rules.
//!
//! # The way of a request
//!
//! ```text
//!   net         a connection: headers and body within limits
//!    |
//!   service     version, address, credential, operation, answer
//!    |   \
//!    |    access      may the caller do it: shared key, signature, policy, token
//!    |
//!   operation   the request as a typed operation
//!    |              filter, entity, batch, media: the texts in it
//!   execute     the operation carried out on a table_orm::store::Store
//!    |
//!   respond     headers, and errors as JSON or XML
//! ```
//!
//! # Modules
//!
//! A module uses only modules above it.
//!
//! | Module | What it holds |
//! |---|---|
//! | `error` | errors, with the service's codes and texts |
//! | `message` | requests and responses as values |
//! | `failure` | what is told of requests that fail |
//! | `uri`, `media` | texts in requests |
//! | `filter` | `$filter`, read into a filter and a key range |
//! | `entity` | entities as JSON, at each level of metadata |
//! | `batch` | bodies of transactions |
//! | `accounts`, `address` | accounts, and what a URL addresses |
//! | `access` | credentials, and what they allow |
//! | `settings` | properties of the service, policies of tables |
//! | `operation` | requests as typed operations |
//! | `respond`, `cors` | what every response has |
//! | `execute` | operations on a store |
//! | `service` | [`TableService`] |
//! | `net`, `server` | sockets, and [`Server`] |

mod error;

mod message;

mod failure;

mod media;

mod uri;

pub mod filter;

mod entity;

mod batch;

mod accounts;

mod address;

mod access;

mod settings;

mod operation;

mod respond;

mod cors;

mod execute;

mod service;

mod net;

mod server;

#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;

pub use accounts::{EMULATOR_ACCOUNT, EMULATOR_KEY};
pub use error::ServiceError;
pub use failure::FailedRequest;
pub use message::{Answer, Client, Request, Response};
pub use net::TlsError;
pub use server::{Server, ServerBuilder, StartError};
pub use service::TableService;
