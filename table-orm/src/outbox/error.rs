//! Why an event stays in the outbox.

use crate::error::Error;
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
