//! The Table service's wire protocol without I/O.
//!
//! A [`TableService`] builds the [`WireRequest`] of each operation; the [`WireResponse`] to it,
//! read into memory, becomes what a [`Store`](crate::store::Store) returns. It has no sockets,
//! clocks or credentials: a transport adds the date and the signature and sends the bytes.
//!
//! What both ends of the wire need is public as well, for a server that answers these requests:
//! [`http_date`], [`instant`], [`json`], [`signature`] and [`xml`].
//!
//! Invariants: a built request keeps the service's rules for keys, names, counts and sizes; the
//! text of a value never changes the meaning of the request around it.

mod access_policy;
mod acl;
mod batch;
mod cors;
mod cors_rule;
mod dialect;
mod encode;
mod fault;
pub mod http_date;
pub mod instant;
pub mod json;
mod message;
mod parameters;
mod permissions;
mod read;
mod retry_after;
mod row_keys;
mod service;
pub mod signature;
mod sink;
mod stats;
mod write;
pub mod xml;

pub use access_policy::{AccessPolicy, MAX_POLICY_ID};
pub use acl::MAX_ACCESS_POLICIES;
pub use cors::{MAX_CORS_BYTES, MAX_CORS_RULES};
pub use cors_rule::{CorsMethod, CorsRule};
pub use dialect::Dialect;
pub use message::{Method, WireRequest, WireResponse};
pub use permissions::Permissions;
pub use service::TableService;

pub(crate) use access_policy::is_policy_id;

pub use encode::percent_encode;

/// The `x-ms-version` of every request: the first that supports tokens of Entra ID. Azurite and
/// Cosmos DB support it too.
pub const API_VERSION: &str = "2020-12-06";
