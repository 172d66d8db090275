//! The requests of a call as values.
//!
//! A read or write on a [`Repo`](crate::Repo) returns a value that sends nothing by itself. `.plan()`
//! returns its requests as a [`Plan`]; `.await` or a last method sends them.
//!
//! ```
//! # use table_orm::{TableEntity, Tables};
//! #[derive(TableEntity)]
//! #[table(name = "runners", partition = "{race}")]
//! #[row(by_bib, key = "BIB:{bib:05}")]
//! #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
//! struct Runner { race: String, bib: u32, age: u8 }
//!
//! # fn main() -> table_orm::Result<()> {
//! let runners = Tables::in_memory()?.repo::<Runner>();
//! let runner = Runner { race: "Boston".into(), bib: 7, age: 55 };
//! let plan = runners.insert(&runner).plan()?;
//! assert_eq!(plan.to_string(), r#"
//! entity group transaction on `runners`
//!   PartitionKey  "Boston"
//!    0 insert            "BIB:00007"
//!    1 insert            "AGE:055__00007"
//! "#.trim());
//! # Ok(())
//! # }
//! ```
//!
//! Invariants:
//! - A call builds each request once: as a [`RowQuery`], as a [`Batch`], or as a read and the write that
//!   depends on it. The plan lists these values, and the table client sends the same values.
//! - Only this module sends requests about rows to a store. The one exception are scans, which read pages
//!   themselves.

mod accompanied;
mod alive;
mod attempts;
mod blobs;
mod call_plan;
mod canonical_key;
mod changes;
mod connection;
mod cost;
mod display;
mod entity_context;
mod events;
mod evict;
mod expiry;
mod large_values;
mod measured_batch;
mod optimistic;
mod query_pages;
mod registers;
mod rejections;
mod step;
mod step_cost;
mod sums;
mod table_client;
mod within;

pub use attempts::CONFLICT_RETRY_TIME;
pub(crate) use blobs::blobs_of;
pub use call_plan::Plan;
pub use cost::{Bounds, Cost, PlacedCost};
pub use step::{Step, WhenAbsent};
pub use within::Within;

pub(crate) use attempts::{Attempts, RetryLimits};
pub(crate) use canonical_key::CanonicalKey;
pub(crate) use changes::{
    UpdateMode, changes, combine, delete_all, guards_beside, insert_all, merge_all, replace_all,
    upsert_all,
};
pub(crate) use connection::Connection;
#[cfg(all(test, feature = "embedded"))]
pub(crate) use connection::MAX_IN_BACKGROUND;
pub(crate) use entity_context::EntityContext;
pub(crate) use expiry::{Expiry, MakeRoom};
pub(crate) use measured_batch::MeasuredBatch;
pub(crate) use optimistic::{Decision, OptimisticWrite, Outcome};
pub(crate) use query_pages::QueryPages;
pub(crate) use registers::{Cover, Next, Pointer, Register, WorkPlace};
pub(crate) use sums::total_row;
pub(crate) use table_client::{AfterMove, Found, OtherForm, TableClient};
pub(crate) use within::writing;

#[cfg(doc)]
use crate::{query::RowQuery, store::Batch};
