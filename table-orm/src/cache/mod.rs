//! Rows that were read a short time ago, kept for the next `get`.
//!
//! [`Repo::cached`](crate::Repo::cached) and `#[table(cache = "30s")]` read through it. Only `get` and
//! `get_many` of whole entities do: whatever decides a write, such as `load`, `update` and `save`, and every
//! list, asks the store.
//!
//! Invariants:
//! - An answer was true at some time after the call began, or at most the type's time before that. The time
//!   of a row is that at which its request began.
//! - A row that was read before a write of this connection was answered is never returned after that answer. The
//!   write removes the row, and a read under way when the write ends is not kept, and not joined.
//! - The rows and keys kept have no more bytes than set.

mod counts;
mod flights;
mod rows;

pub use counts::CacheCounts;

pub(crate) use rows::RowCache;

/// The bytes of rows and keys that the [`Tables`](crate::Tables) of a connection keep, unless
/// [`TablesBuilder::cache_bytes`](crate::TablesBuilder::cache_bytes) sets others: 32 MiB.
pub const DEFAULT_CACHE_BYTES: u64 = 32 << 20;
