//! Writes of many entities: chunked into entity group transactions, several in flight at a time.
//!
//! Invariants:
//! - The rows of one entity are never in two transactions.
//! - Two entities that have a row in common are written in the order of the input. The second is sent
//!   after the answer to the first.
//! - The report lists each entity once: as written, as failed, or in the remainder.
//! - Memory is bounded, whatever the length of the input and the number of its partitions. It holds at most
//!   [`OPEN_OPERATIONS`] operations of [`OPEN_BYTES`] bytes that wait for others of their partition, the entities
//!   of twice `parallelism` transactions, 10,000 keys of rows in other partitions that wait to be settled, and the
//!   groups that are being settled. Beside these, it holds the failed entities.

mod builder;
mod busy_rows;
mod chunk;
mod open;
mod policy;
mod report;
mod run;
mod schedule;
mod source;

pub use builder::{Bulk, DEFAULT_PARALLELISM};
pub(super) use chunk::Chunk;
pub use open::{OPEN_BYTES, OPEN_OPERATIONS};
pub(super) use policy::BatchPolicy;
pub use report::{BulkFailure, BulkProgress, BulkReport, Remainder};
pub use source::{IntoSource, Source, Streamed};
