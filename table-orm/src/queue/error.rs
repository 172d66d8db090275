//! The error of one request to a queue.

use crate::model::Printable;
use std::error::Error;

/// The reason why a request to a queue failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("queue `{}`: {}", Printable(queue), Printable(message))]
pub struct QueueError {
    /// The kind of failure.
    pub kind: QueueErrorKind,
    /// The queue's name.
    pub queue: String,
    /// The service's message and what to do, for people.
    pub message: String,
    /// The cause, such as an I/O error.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of a [`QueueError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueErrorKind {
    /// The queue does not exist. `create` creates it.
    QueueNotFound,
    /// Another receiver got the message since, or it was deleted, so the receipt is void.
    MessageLost,
    /// The request is invalid, for example with a name that no queue can have.
    Invalid,
    /// The credential does not allow the request.
    Forbidden,
    /// The service is overloaded or does not answer. Retrying later may succeed.
    Unavailable,
    /// Another failure.
    Other,
}

impl QueueError {
    /// Makes the error of a request to a queue.
    #[must_use]
    pub fn new(kind: QueueErrorKind, queue: &str, message: impl Into<String>) -> Self {
        Self { kind, queue: queue.to_owned(), message: message.into(), source: None }
    }

    /// Adds the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
