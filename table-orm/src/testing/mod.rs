//! A fake Table service, for tests and benchmarks on virtual time.
//!
//! [`FakeService`] holds only keys, in a few bytes a row, so a table of millions of rows fits. It
//! generates rows when they are read. On tokio's paused clock its latencies cost no real time.
//!
//! ```
//! use table_orm::testing::{FakeService, KeySet, ServiceSettings};
//! use table_orm::{ScanPermit, TableName, Tables};
//! # async fn run() -> table_orm::Result<()> {
//! let keys = KeySet::new((0..2500).map(|id| (format!("{id:05}"), String::new())));
//! let service = FakeService::new(keys, ServiceSettings { page_rows: 100, ..Default::default() });
//! let tables = Tables::new(service.clone());
//! let report = tables.scan(TableName::new("any")?, ScanPermit::because("test")).count().await?;
//! assert_eq!(report.rows, 2500);
//! assert_eq!(report.requests, service.figures().requests);
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run()).unwrap();
//! ```

mod bucket;
mod figures;
mod generated_row;
mod keys;
mod kinds;
mod random;
mod service;
mod settings;

pub use figures::ServiceFigures;
pub use keys::KeySet;
pub use kinds::KeyKind;
pub use random::Random;
pub use service::FakeService;
pub use settings::ServiceSettings;
