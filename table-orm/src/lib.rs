//! A typed entity ORM for Azure Table Storage.

#[doc(hidden)]
pub mod __private;
pub mod edm;
pub mod entity;
mod error;
pub mod key;
pub mod layer;
pub mod plan;
pub mod property;
pub mod query;
pub mod repo;
pub mod row;
pub mod store;
mod tables;

pub use entity::{DynamicEntity, ETag, Loaded, TableName};
pub use error::{Error, Refusal, Result, Unexpected};
pub use query::ScanPermit;
pub use repo::Repo;
pub use tables::Tables;
