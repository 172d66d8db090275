//! A typed entity ORM for Azure Table Storage.
//!
//! `#[derive(TableEntity)]` makes a struct a table entity. You write the stored keys as format
//! strings; the derive generates their encoders, the rows and properties of the entity, and typed
//! queries. Only point, row range and partition queries compile without a permit to scan.
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
//! # For your app
//!
//! - [`Tables`] connects to a store, and [`Repo`] has the calls of one entity type. A call that reads
//!   or writes rows is a value that is awaited to run, and whose [`plan`] shows first what it will send.
//! - [`derive@TableEntity`], [`derive@KeyPart`], [`derive@Properties`], [`derive@Projection`] and
//!   [`derive@TableUnion`] describe what is stored and read.
//! - [`scan`] reads whole tables with many workers; [`ScanPermit`] says why.
//! - [`outbox`] hands each change of an entity on, to a handler or a queue.
//! - [`layer`] adds retries, limits and tracing around a store.
//! - [`Error`] is the error of a call; [`Error::rejection`] is what the store answered, and
//!   [`Error::kind`] what a caller can do.
//!
//! # For a store of your own
//!
//! Implement [`store::Store`]. [`query`] has the queries it answers, [`model`] the values of the
//! data model.
//!
//! # For key and property types of your own
//!
//! Implement [`key::KeyPart`] for a type in keys, and [`property::Property`] for a type in
//! properties.
//!
//! Both are implemented for types of `time` 0.3, `uuid` 1 and `bytes` 1, and with the feature of
//! that name for those of `chrono` 0.4, `jiff` 0.2, `rust_decimal` 1 and `ulid` 3. A type of
//! another major version is another type, which has neither trait.
//!
//! # Modules
//!
//! A module uses only modules above it in these tables.
//!
//! ## Values, keys and rows: no requests
//!
//! | Module | What it holds |
//! |---|---|
//! | [`model`] | the service's data model: values and their types, instants, ETags, table names, limits |
//! | `sync` | calls side by side, a lock for each key, token bucket, backoff, clocks, random numbers |
//! | `figures` | what reports are written with: percentiles, and numbers as people read them |
//! | [`key`] | the text of PartitionKeys and RowKeys: encoders, order, components |
//! | `codec` | the JSON of a row: one reader, one writer |
//! | [`property`] | types that properties store |
//! | [`query`] | key ranges, filters, page tokens, and the builders of keys |
//! | [`entity`] | entities, their rows and templates, and what is read from rows |
//!
//! ## Stores: where requests go
//!
//! | Module | What it holds |
//! |---|---|
//! | [`store`] | the contract of a backend |
//! | `queue` | the contract of a message queue, and one in memory |
//! | [`blobs`] | the contract of what holds the bytes of large values, and one in memory |
//! | `azure` | Azure Table Storage over HTTP |
//! | `embedded` | a database file, or memory |
//! | `data_tables` | a store over a client of the `azure_data_tables` crate |
//! | [`layer`] | behaviour around a store: retries, limits, tracing |
//! | [`accounts`] | one store over several storage accounts |
//! | `testing` | a service on virtual time, and keys of typical applications |
//! | `cache` | rows that were read a short time ago |
//!
//! ## Calls: what an app asks of a table
//!
//! | Module | What it holds |
//! |---|---|
//! | `error` | [`Error`] and the errors that it wraps |
//! | [`plan`] | what a call will send, and the code that sends it |
//! | `register` | which partitions have unfinished work |
//! | [`eventual`] | how an entity's rows in other partitions follow it |
//! | [`repo`] | [`Repo`] and its calls, and the upkeep of rows: verify, repair, backfill |
//! | [`scan`] | scans of whole tables, in one process or distributed |
//!
//! ## Work on whole tables and designs, over the calls
//!
//! | Module | What it holds |
//! |---|---|
//! | [`migrate`] | new keys for stored entities, while clients write |
//! | [`outbox`] | what was written, handed on to handlers and queues |
//! | [`transfer`] | rows out to text, and back: exports and imports |
//! | [`profile`] | what a table stores: partitions, sizes, properties, and advice |
//! | [`schema_lock`] | the schemas of an app's types in a file, which a test checks |
//! | [`book`] | the access patterns of an app, and what they cost |
//! | [`periods`] | types with a table for each hour, day, month or year |
//! | `tables` | [`Tables`], [`TablesBuilder`] |
//! | `stress` | the rate that a partition sustains, found by a test |
//!
//! # Features
//!
//! | Feature | What it adds |
//! |---|---|
//! | `embedded` (default) | the embedded store: redb in a file, or memory |
//! | `azure` | Azure Table Storage, Cosmos DB for Table and Azurite over HTTP; the build needs a C compiler |
//! | `azure-data-tables` | a store over a client of the unmaintained `azure_data_tables` crate; implies `azure` |
//! | `distributed` | one scan by workers on many machines, which share a table and a queue |
//! | `azure-queue` | queues of Azure Storage; implies `azure` and `distributed` |
//! | `azure-blob` | blobs of Azure Storage for large values; implies `azure` |
//! | `cache` | entities that were read a short time ago are not read again |
//! | `chrono`, `jiff`, `rust_decimal`, `ulid` | key and property types of these crates |
//! | `sealed` | page tokens that a client can neither read nor alter |
//! | `zstd` | compressed properties; the build needs a C compiler |
//! | `tracing`, `metrics` | spans and counters of each call |
//! | `testing` | a store that fails on purpose, and a fake service on virtual time |
//! | `stress` | a test that finds the rate a partition sustains, with a report; implies `testing` |

// `__wrapper!` copies a `PhantomData` that only generic types have.
#![allow(clippy::needless_update)]

// In the order of the tables above: a module uses only modules above it.

pub mod model;

mod sync;

mod figures;

pub mod key;

mod codec;

pub mod property;

pub mod query;

pub mod entity;

pub mod store;

#[cfg(feature = "distributed")]
pub mod queue;

pub mod blobs;

#[cfg(feature = "azure")]
pub mod azure;

#[cfg(feature = "embedded")]
pub mod embedded;

#[cfg(feature = "azure-data-tables")]
pub mod data_tables;

pub mod layer;

pub mod accounts;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(feature = "cache")]
pub mod cache;

mod error;

pub mod plan;

mod register;

pub mod eventual;

pub mod repo;

pub mod scan;

pub mod migrate;

pub mod outbox;

pub mod transfer;

pub mod profile;

pub mod schema_lock;

pub mod book;

pub mod periods;

mod tables;

#[cfg(feature = "stress")]
pub mod stress;

#[cfg(test)]
mod dose;

#[doc(hidden)]
pub mod __private;

#[cfg(any(fuzzing, test))]
#[doc(hidden)]
pub mod fuzzing;

#[cfg(any(doc, doctest))]
pub mod guide;

pub use entity::{
    DynamicEntity, EntityKeys, InvalidEntity, KeyMismatch, Loaded, Sum, TableEntity, TableUnion,
};
pub use error::{Error, ErrorKind, IncompleteEntity, Rejection, Result, RowCount, UniqueHolder};
pub use key::KeyPart;
pub use model::{ETag, TableName};
pub use plan::Within;
pub use property::Properties;
pub use query::ScanPermit;
pub use repo::Repo;
pub use table_derive::{KeyPart, Projection, Properties, TableEntity, TableUnion};
pub use tables::{Tables, TablesBuilder};

#[cfg(all(doctest, feature = "embedded"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The pages of the derives, whose crate cannot depend on this one.
#[cfg(doctest)]
mod derives {
    #[doc = include_str!("../../table-derive/src/key_part.md")]
    struct KeyPart;

    #[doc = include_str!("../../table-derive/src/projection.md")]
    struct Projection;

    #[doc = include_str!("../../table-derive/src/properties.md")]
    struct Properties;

    #[doc = include_str!("../../table-derive/src/table_entity.md")]
    struct TableEntity;

    #[doc = include_str!("../../table-derive/src/table_union.md")]
    struct TableUnion;
}
