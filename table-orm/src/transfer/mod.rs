//! Rows out to text, and back: exports and imports with exact types.
//!
//! [`Tables::export`](crate::Tables::export) writes the rows of a table,
//! [`Repo::export`](crate::Repo::export) the entities of one type, each as its canonical row.
//! [`Tables::import`](crate::Tables::import) and [`Repo::import`](crate::Repo::import) read them back;
//! the latter writes index rows and guard rows anew.
//!
//! The text is JSON Lines: each line is a row as the service returns it, with the type of each property
//! whose JSON does not show it. Or it is CSV, with a header that states the types: see [`Columns`].
//! Rows are in key order, so the same rows are the same text, byte for byte.
//!
//! ```
//! use table_orm::{ScanPermit, TableEntity, Tables};
//!
//! #[derive(Debug, Clone, PartialEq, TableEntity)]
//! #[table(name = "results", partition = "{race}", row = "{bib:05}")]
//! struct Finisher { race: String, bib: u32, seconds: f64 }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> table_orm::Result<()> {
//!     let results = Tables::in_memory()?.repo::<Finisher>();
//!     results.create_table().await?;
//!     results.insert(&Finisher { race: "Boston".into(), bib: 7, seconds: 9_000.5 }).await?;
//!
//!     let mut text = Vec::new();
//!     let exported = results.export(ScanPermit::because("backup")).write_to(&mut text).await?;
//!     assert_eq!(exported.rows, 1);
//!
//!     let copy = Tables::in_memory()?.repo::<Finisher>();
//!     copy.create_table().await?;
//!     let imported = copy.import().read_from(&*text).await?;
//!     assert_eq!(imported.rows, 1);
//!     Ok(())
//! }
//! ```
//!
//! An export is no snapshot: rows that are written while it runs may or may not be in it.

mod blocking;
mod csv;
mod destination;
mod export;
mod format;
mod import;
mod lines;
#[cfg(test)]
#[cfg(feature = "embedded")]
mod tests;

pub use crate::error::TransferError;
pub use csv::Columns;
pub use destination::Destination;
pub use export::{Export, ExportPage, ExportPages, ExportReport};
pub use import::{Import, ImportReport, RefusedRow};
