//! How entities share transactions.

use crate::error::Result;
use crate::plan::{OptimisticWrite, TableClient};
use crate::store::Batch;
use futures_core::future::BoxFuture;

/// How entities share transactions.
pub(in crate::repo) struct BatchPolicy<E> {
    /// The operations that write an entity. For an entity that is sent individually, they only name
    /// its rows.
    pub operations: fn(&E) -> Result<Batch>,
    /// How each entity is sent by itself, when its operations depend on what is stored.
    pub individually: Option<Individually<E>>,
}

/// A write that reads first, as one of many.
pub(in crate::repo) struct Individually<E> {
    /// Returns what it will send.
    pub write: fn(&TableClient, &E) -> Result<OptimisticWrite>,
    /// Sends it. Returns the entity with the answer.
    pub send: fn(TableClient, E) -> BoxFuture<'static, Answered<E>>,
}

/// An entity and the answer to its write.
type Answered<E> = (E, Result<()>);

impl<E> BatchPolicy<E> {
    /// Entities of one partition share a transaction.
    pub fn shared(operations: fn(&E) -> Result<Batch>) -> Self {
        Self { operations, individually: None }
    }
}
