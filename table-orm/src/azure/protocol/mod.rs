//! The Table service's wire protocol without I/O: requests as bytes, responses from bytes.
//!
//! A [`TableService`] builds the [`WireRequest`] of each operation; the [`WireResponse`] to it, read into
//! memory, gives back what a [`Store`](crate::store::Store) returns. No sockets, clocks or
//! credentials here: a transport adds the date and the signature and moves the bytes.
//!
//! Invariant: a request that is built keeps the service's rules for keys, names, counts and sizes,
//! and no value in it, whatever its text, reaches past the place it was put in.

mod batch;
mod cors;
mod dialect;
mod encode;
mod fault;
pub(crate) mod http_date;
mod message;
mod read;
mod row_keys;
mod service;
mod write;
mod xml;

pub use cors::{CorsMethod, CorsRule};
pub use dialect::Dialect;
pub use message::{Method, WireRequest, WireResponse};
pub use service::TableService;

pub(crate) use encode::percent_encode;

/// The `x-ms-version` of every request: the first that Entra ID tokens work with, and one that
/// Azurite and Cosmos DB know.
pub const API_VERSION: &str = "2020-12-06";
