//! Buffered writes: entities that arrive one by one, written as full transactions.
//!
//! Invariants:
//! - An entity that was taken is in one place: in the channel, in a lane, in flight, written, or among the
//!   failures. It keeps its share of the buffer until it is written or its failure is handed out, so the
//!   buffer bounds all of it.
//! - A partition has one transaction in flight. Its entities are sent in the order in which they were taken.
//! - With a journal, an entity that was taken is in the file until it is written or handed back.
//! - No entity waits longer than the set time while its partition is idle and a request is free.

mod builder;
mod deliver;
mod handle;
mod journal;
mod lanes;
mod report;
mod run;
mod unreported;

pub use builder::OpenWriter;
pub use handle::Writer;
pub use report::{WriterFailure, WriterReport};
