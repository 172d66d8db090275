//! A typed entity ORM for Azure Table Storage.

#[doc(hidden)]
pub mod __private;
pub mod edm;
pub mod entity;
mod error;
pub mod key;
pub mod property;
pub mod query;
pub mod row;
pub mod store;

pub use error::{Error, Refusal, Result, Unexpected};
pub use query::ScanPermit;
