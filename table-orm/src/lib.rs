//! A typed entity ORM for Azure Table Storage.
//!
//! An app struct becomes a table entity by `#[derive(TableEntity)]`, which takes the stored keys as
//! format strings and generates their encoders, the entity's rows, its property codec, and queries
//! that can only be asked as point, row range or partition queries.
//!
//! The way of a value reads downhill: an entity becomes [rows](entity) of [keys](key) and
//! [properties](property); a call on a [`Repo`] makes a [plan] of them; a [store] carries it
//! out.
//!
//! ```
//! use table_orm::{TableEntity, Tables};
//!
//! #[derive(Debug, PartialEq, TableEntity)]
//! #[table(name = "readings", partition = "{sensor}", row = "{day:05}")]
//! struct Reading {
//!     sensor: String,
//!     day: u32,
//!     celsius: f64,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> table_orm::Result<()> {
//!     let readings = Tables::in_memory()?.repo::<Reading>();
//!     readings.create_table().await?;
//!     for day in 0..10 {
//!         let reading = Reading { sensor: "roof".into(), day, celsius: 20.5 };
//!         readings.insert(&reading).await?;
//!     }
//!     let roof = Reading::partition("roof");
//!     let week = readings.list(roof.row().day_in(0..7)).collect().await?;
//!     assert_eq!(week.len(), 7);
//!     Ok(())
//! }
//! ```
//!
//! # Types of other crates
//!
//! Keys and properties take the types of `time` 0.3, `uuid` 1 and `bytes` 1, and those of `chrono` 0.4,
//! `jiff` 0.2, `rust_decimal` 1 and `ulid` 3 with the feature of that name. Types of another major
//! version are other types, which have neither trait.

pub mod model;

mod sync;

mod codec;

pub mod key;

pub mod property;

pub mod query;

pub mod entity;

pub mod store;

#[cfg(feature = "distributed")]
pub mod queue;

#[cfg(feature = "azure")]
pub mod azure;

#[cfg(feature = "embedded")]
pub mod embedded;

#[cfg(feature = "azure-data-tables")]
pub mod data_tables;

pub mod layer;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

mod error;

pub mod plan;

pub mod repo;

pub mod scan;

mod tables;

#[doc(hidden)]
pub mod __private;

#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;

#[cfg(any(doc, doctest))]
pub mod guide;

pub use entity::{DynamicEntity, Invalid, KeyMismatch, Loaded, TableEntity, TableUnion};
pub use error::{Error, IncompleteEntity, Rejection, Result, RowCount};
pub use key::KeyPart;
pub use model::{ETag, TableName};
pub use property::Properties;
pub use query::ScanPermit;
pub use repo::Repo;
pub use table_derive::{KeyPart, Projection, Properties, TableEntity, TableUnion};
pub use tables::Tables;

#[cfg(all(doctest, feature = "embedded"))]
#[doc = include_str!("../../README.md")]
struct Readme;
