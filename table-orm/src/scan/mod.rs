//! Whole tables, of any size: many workers read ranges of keys at a time.
//!
//! [`Repo::scan`](crate::Repo::scan) starts one of typed entities,
//! [`Tables::scan`](crate::Tables::scan) one of any rows. Without knowledge of the keys, an idle worker
//! splits the range with most left to read, at a key guessed from those seen; after the first 503
//! the scan keeps to the rate, in entities a second, that the service sustains.
//!
//! Every row that stands in the table throughout is delivered once: ranges are split, and pages
//! committed, under one lock, so the ranges always partition what is left to read. A scan resumed
//! from a [`Checkpoint`] may deliver the pages again that were not known to be done.
//!
//! [`Scan::distributed`] shares one scan among workers on many [machines](distributed).
//!
//! A scan answers 503s itself, by slowing down. A layer below it that retries them hides from it
//! how fast the service is.
//!
//! ```
//! use table_orm::{Projection, ScanPermit, TableEntity, Tables};
//!
//! #[derive(Debug, TableEntity)]
//! #[table(name = "results", partition = "{race}", row = "{bib:05}")]
//! struct Finisher {
//!     race: String,
//!     bib: u32,
//!     name: String,
//!     minutes: u32,
//! }
//!
//! #[derive(Debug, PartialEq, Projection)]
//! #[projection(of = Finisher)]
//! struct NameOnly {
//!     name: String,
//! }
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> table_orm::Result<()> {
//!     let results = Tables::in_memory()?.repo::<Finisher>();
//!     results.create_table().await?;
//!     for (race, bib, name, minutes) in
//!         [("Boston", 7, "Ann", 171), ("Boston", 9, "Bob", 254), ("Chicago", 1, "Cleo", 166)]
//!     {
//!         results.insert(&Finisher { race: race.into(), bib, name: name.into(), minutes }).await?;
//!     }
//!     let scan = || results.scan(ScanPermit::because("yearly statistics"));
//!
//!     let report = scan().count().await?;
//!     assert_eq!((report.rows, report.requests), (3, 1));
//!     let slow = scan().filter(|row| row.minutes.ge(180)).collect().await?;
//!     assert_eq!(slow.len(), 1);
//!     assert!(scan().prefix("Chi").exists().await?);
//!     let first = scan().project::<NameOnly>().first().await?;
//!     assert_eq!(first, Some(NameOnly { name: "Ann".into() }));
//!     let some = scan().take(2).collect().await?;
//!     assert_eq!(some.len(), 2);
//!     Ok(())
//! }
//! ```

mod api;
mod checkpoint;
#[cfg(feature = "distributed")]
pub mod distributed;
mod engine;
mod pace;
#[cfg(test)]
mod tests;

pub use crate::error::ScanError;
pub use api::{DEFAULT_CONCURRENCY, MAX_CONCURRENCY, Scan, ScanPage, ScanStream, Untyped};
pub use checkpoint::Checkpoint;
pub use engine::{ScanReport, Splitter};
