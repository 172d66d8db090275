//! The keys of a stored row.

/// The two keys of a row, and which of its entity's templates the RowKey was written from.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct StoredKeys<'a> {
    pub(crate) row: usize,
    pub(crate) partition_key: &'a str,
    pub(crate) row_key: &'a str,
}
