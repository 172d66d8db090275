//! Scans of whole tables of any size: many workers read ranges of keys side by side.
//!
//! [`Repo::scan`](crate::Repo::scan) starts a scan of typed entities,
//! [`Tables::scan`](crate::Tables::scan) a scan of any rows. A scan needs no knowledge of the keys: an
//! idle worker splits the range with most left to read, at a key guessed from the keys seen. After the
//! first 503 the scan keeps to the rate, in rows a second, that the service sustains.
//!
//! A scan delivers every row that stays in the table while it runs exactly once. Ranges are split, and
//! pages committed, under one lock, so the ranges always partition what is left to read. A scan that
//! resumes from a [`Checkpoint`] delivers again the pages that the checkpoint does not know as done.
//!
//! With the feature `distributed`, `Scan::distributed` shares one scan among workers on many machines.
//!
//! A scan slows down by itself after a 503. `Retry` below it hands it 429 and 503 at once. A layer of your own
//! that retries must do the same for requests that are [`self_paced`](crate::query::RowQuery::self_paced): otherwise it
//! hides the service's rate.
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
mod settle;
#[cfg(test)]
mod tests;

pub use crate::error::ScanError;
pub use api::{
    DEFAULT_BUFFER, DEFAULT_CONCURRENCY, ListByWorkers, MAX_CONCURRENCY, Scan, ScanPage,
    ScanStream, Untyped,
};
pub use checkpoint::Checkpoint;
pub use engine::{ScanReport, Splitter};
pub use settle::Settle;
