//! Why an event stays in the outbox.

use super::{Error, ErrorKind};
use std::time::Duration;

/// The error of a handler.
pub type HandlerError = Box<dyn std::error::Error + Send + Sync>;

/// Why an event, and those after it, stay in the outbox.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The handler failed. The event comes again.
    #[error(
        "the handler failed: {error}; failures in a row: {failures}; the event stays and comes again after \
         {wait:?}"
    )]
    Handler {
        /// The handler's error.
        error: HandlerError,
        /// How often the handler failed in this partition since it last took an event.
        failures: u32,
        /// How long the partition is left alone.
        wait: Duration,
    },
    /// A newer version of the app, or another program, wrote the event.
    #[error(
        "event {number} has no `{property}` that this version knows; it stays, and later events wait: deploy \
         the version that wrote it"
    )]
    Unknown {
        /// The event's number.
        number: u64,
        /// The property that is missing or unknown.
        property: &'static str,
    },
    /// The store failed. Events that a handler took may come again.
    #[error(transparent)]
    Store(#[from] Error),
}

/// A partition whose events stay, or that stays named in the register.
#[derive(Debug, thiserror::Error)]
#[error("the outbox of partition {partition_key:?}: {error}")]
#[non_exhaustive]
pub struct DispatchFailure {
    /// The PartitionKey.
    pub partition_key: String,
    /// The number of the event that stays, where it is known.
    pub number: Option<u64>,
    /// Why it stays.
    #[source]
    pub error: DispatchError,
}

impl DispatchFailure {
    pub(crate) const fn new(
        partition_key: String,
        number: Option<u64>,
        error: DispatchError,
    ) -> Self {
        Self { partition_key, number, error }
    }
}

impl DispatchError {
    pub(super) const fn kind(&self) -> ErrorKind {
        match self {
            Self::Handler { .. } | Self::Unknown { .. } => ErrorKind::ServerError,
            Self::Store(error) => error.kind(),
        }
    }
}
