//! What a call will send, and what sends it.
//!
//! A read or write on a [`Repo`](crate::Repo) returns a value that sends nothing by itself. `.plan()`
//! shows its requests as a [`Plan`], `.await` or a last method sends them.
//!
//! Invariants:
//! - A call builds each request once: as a [`RowQuery`], a [`Batch`], or a read and the write that it
//!   decides. The plan lists these values, and the table client sends these values. Nothing else
//!   decides what is sent.
//! - Only this module hands requests about rows to a store, but for scans, which read by pages of
//!   their own.

mod canonical_key;
mod changes;
mod connection;
mod display;
mod optimistic;
mod step;
mod table_client;

pub use optimistic::MAX_ATTEMPTS;
pub use step::{Plan, Step};

pub(crate) use canonical_key::CanonicalKey;
pub(crate) use changes::{
    UpdateMode, changes, delete_all, insert_all, merge_all, replace_all, upsert_all,
};
pub(crate) use connection::Connection;
pub(crate) use optimistic::{Decision, OptimisticWrite, Outcome};
pub(crate) use table_client::{EntityContext, TableClient};

#[cfg(doc)]
use crate::{query::RowQuery, store::Batch};
