//! Why a large value cannot be stored or read.

use super::ErrorKind;
use crate::blobs::{BlobError, BlobErrorKind};

/// Why a large value cannot be stored or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LargeValueError {
    /// The value was removed before an entity was stored with it, because no entity referred to it.
    #[error(
        "the large value {row_key:?} in partition {partition_key:?} was removed before an entity was stored with it; \
         no entity was changed: upload the value again"
    )]
    Gone {
        /// The partition.
        partition_key: String,
        /// The first row of the value.
        row_key: String,
    },
    /// The value belongs to another entity, or to this one under another key.
    #[error(
        "row {row_key:?} of partition {partition_key:?} refers to a large value that was uploaded for another \
         key; nothing was written: upload the value for this one"
    )]
    OfAnotherEntity {
        /// The entity's partition.
        partition_key: String,
        /// The entity's canonical row.
        row_key: String,
    },
    /// A row of the value, or its blob, is missing or has other bytes than were written.
    #[error(
        "row {row_key:?} of a large value in partition {partition_key:?}, or the blob that it names, is missing or \
         damaged, and the entity still refers to the value; nothing was changed: upload the value again"
    )]
    Damaged {
        /// The partition.
        partition_key: String,
        /// The row.
        row_key: String,
    },
    /// The value was replaced while it was read.
    #[error(
        "the large value {row_key:?} in partition {partition_key:?} was replaced while it was read; what was \
         read so far is not the whole value: load the entity and read it again"
    )]
    Replaced {
        /// The partition.
        partition_key: String,
        /// The row that was to be read next.
        row_key: String,
    },
    /// The source of an upload failed.
    #[error(
        "the source of a large value failed: {0}; no entity refers to what was uploaded, and `repair` removes it"
    )]
    Source(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A blob with the bytes of a large value could not be read or written, after several attempts.
    #[error("{0}; no entity was changed by this")]
    Blob(#[from] BlobError),
    /// The value is in a blob, and the tables were opened without any.
    #[error(
        "the large value {id:?} is in a blob, and these tables have no blobs; nothing was changed: give the blobs to \
         `TablesBuilder::blobs`"
    )]
    NoBlobs {
        /// The end of the blob's name, after that of the table.
        id: String,
    },
    /// Blobs were to be deleted with their table, and the tables were opened without any.
    #[error(
        "`delete_blobs` finds no blobs, because these tables have none; nothing was deleted: give the blobs to \
         `TablesBuilder::blobs`, or leave the call out"
    )]
    NoContainer,
    /// The value is longer than the parts of a blob, or numbered rows, can be together.
    #[error(
        "a large value has at most {most} bytes; no entity refers to what was uploaded, and `repair` removes it: store \
         the bytes as several values"
    )]
    TooLong {
        /// The most bytes.
        most: u64,
    },
    /// An earlier call of the upload failed or was dropped, so bytes of the value are missing.
    #[error(
        "an earlier call of this upload failed or was dropped, so bytes of the value are missing; no entity refers \
         to what was uploaded, and `repair` removes it: start another upload"
    )]
    Interrupted,
}

impl LargeValueError {
    /// Whether other entities may succeed.
    pub(super) const fn is_of_one_entity(&self) -> bool {
        matches!(
            self,
            Self::Gone { .. }
                | Self::OfAnotherEntity { .. }
                | Self::Damaged { .. }
                | Self::TooLong { .. }
        )
    }

    pub(super) const fn kind(&self) -> ErrorKind {
        match self {
            Self::Gone { .. } | Self::Replaced { .. } => ErrorKind::Conflict,
            Self::OfAnotherEntity { .. }
            | Self::TooLong { .. }
            | Self::Interrupted
            | Self::NoContainer => ErrorKind::ClientError,
            Self::Blob(error) if matches!(error.kind, BlobErrorKind::Unavailable) => {
                ErrorKind::Unavailable
            }
            Self::Blob(error) if matches!(error.kind, BlobErrorKind::Changed) => {
                ErrorKind::Conflict
            }
            Self::Damaged { .. } | Self::Source(_) | Self::Blob(_) | Self::NoBlobs { .. } => {
                ErrorKind::ServerError
            }
        }
    }
}
