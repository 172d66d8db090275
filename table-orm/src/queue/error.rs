//! The error of one request to a queue.

use std::error::Error;

/// Why a request to a queue was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("queue `{queue}`: {message}")]
pub struct QueueError {
    /// What it is about.
    pub kind: QueueErrorKind,
    /// The queue's name.
    pub queue: String,
    /// What the service says, and what to do, for people.
    pub message: String,
    /// What lies below, such as an I/O error.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// What an error of a queue is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueErrorKind {
    /// There is no queue of that name; `create` makes one.
    QueueNotFound,
    /// The message is another's by now, or gone: its receipt is void.
    MessageLost,
    /// The request cannot be carried out by anyone, as with a name no queue can have.
    Invalid,
    /// The credential does not allow it.
    Forbidden,
    /// The service asks to slow down, or is not there now: worth another try later.
    Unavailable,
    /// Anything else.
    Other,
}

impl QueueError {
    /// An error of that queue.
    #[must_use]
    pub fn new(kind: QueueErrorKind, queue: &str, message: impl Into<String>) -> Self {
        Self { kind, queue: queue.to_owned(), message: message.into(), source: None }
    }

    /// The same, with what lies below it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
