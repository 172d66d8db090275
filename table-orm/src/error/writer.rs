//! Why a writer takes no more entities.

/// A writer that takes no more entities. What it took before is still written, unless its runtime has
/// ended: then only a journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriterError {
    /// There is no tokio runtime, in which a writer sends what it was given.
    #[error(
        "the writer needs a tokio runtime, in which it sends what it was given; nothing was written: \
         await it inside one"
    )]
    NoRuntime,
    /// The writer is closed, or its runtime has ended.
    #[error(
        "the writer is closed, or its runtime has ended; an entity passed to this call was not taken: \
         open a new writer"
    )]
    Closed,
    /// Entities that could not be written fill half of the buffer, and nobody took them.
    #[error(
        "entities that could not be written fill half of the writer's buffer; this one was not taken: \
         call `flush`, which returns them"
    )]
    Unclaimed,
}
