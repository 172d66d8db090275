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
    /// Another writer with the same journal, table and type is open.
    #[error(
        "another writer uses the same journal for this table and type; the entity was not taken: close that \
         writer, or give this one a journal of its own"
    )]
    JournalInUse,
    /// An entry of the journal cannot be read as an entity of the type, or cannot be written as one. The writer
    /// was not opened, nothing was sent, and the journal is as it was.
    #[error(
        "the entry with RowKey {row_key:?} in partition {partition_key:?} of the journal \
         cannot be written as an entity: {reason}; the writer was not opened, and every entry is kept: open \
         it with the type that made the entry, or delete the entry"
    )]
    Journal {
        /// The entry's PartitionKey in the journal.
        partition_key: String,
        /// The RowKey of its first row.
        row_key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Entities that could not be written fill half of the buffer, and nobody took them.
    #[error(
        "entities that could not be written fill half of the writer's buffer; this one was not taken: \
         call `flush`, which returns them"
    )]
    Unclaimed,
}
