//! Queues of short messages with at-least-once delivery: the [`Queues`] contract, and an
//! implementation in memory.
//!
//! Workers on many machines take their work from a queue. A received message is hidden from others
//! for its visibility time-out. If it is not deleted by then, it is delivered again. So a worker
//! that dies loses nothing, and every message may be delivered twice.

mod error;
mod memory;
mod rules;

pub use error::{QueueError, QueueErrorKind};
pub use memory::MemoryQueues;
pub use rules::MAX_MESSAGE_BYTES;
pub(crate) use rules::{check_most, check_name, check_text, check_time};

use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most messages that one request receives (service documentation, "Get Messages").
pub const MAX_RECEIVED: usize = 32;
/// The longest visibility time-out: seven days (service documentation, "Get Messages").
pub const MAX_VISIBILITY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A received message, hidden from others until its visibility time-out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The text, as it was sent.
    pub text: String,
    /// How often the message was received, including this time.
    pub dequeue_count: u64,
    /// The receipt to renew or delete the message with.
    pub receipt: Receipt,
}

/// A proof that its holder received a message last.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The message's id.
    pub id: String,
    /// The pop receipt of the latest receive or renewal. Earlier ones are void.
    pub pop: String,
}

impl Message {
    /// Makes a message that a backend received.
    #[must_use]
    pub fn new(text: impl Into<String>, dequeue_count: u64, receipt: Receipt) -> Self {
        Self { text: text.into(), dequeue_count, receipt }
    }
}

impl Receipt {
    /// Makes the receipt of the message with this id.
    #[must_use]
    pub fn new(id: impl Into<String>, pop: impl Into<String>) -> Self {
        Self { id: id.into(), pop: pop.into() }
    }
}

/// A backend that stores queues.
///
/// Every method sends one request. Messages arrive in any order, and possibly more than once.
#[async_trait]
pub trait Queues: fmt::Debug + Send + Sync {
    /// Creates a queue. An existing queue keeps its messages.
    ///
    /// # Errors
    /// Fails with `Invalid` when no queue can have the name, and with `Unavailable` when the
    /// service does not answer.
    async fn create(&self, queue: &str) -> Result<(), QueueError>;

    /// Deletes a queue with all its messages.
    ///
    /// # Errors
    /// Fails with `QueueNotFound` when the queue does not exist.
    async fn delete(&self, queue: &str) -> Result<(), QueueError>;

    /// Sends a message, hidden until `delay` has passed, at most [`MAX_VISIBILITY`].
    ///
    /// # Errors
    /// Fails with `QueueNotFound` when the queue does not exist, and with `Invalid` when the text
    /// is longer than [`MAX_MESSAGE_BYTES`].
    async fn send(&self, queue: &str, text: &str, delay: Duration) -> Result<(), QueueError>;

    /// Receives up to `most` visible messages, 1 to [`MAX_RECEIVED`], and hides each from others
    /// for `visibility`, one second to [`MAX_VISIBILITY`].
    ///
    /// # Errors
    /// Fails with `QueueNotFound` when the queue does not exist.
    async fn receive(
        &self,
        queue: &str,
        most: usize,
        visibility: Duration,
    ) -> Result<Vec<Message>, QueueError>;

    /// Returns whether a message is visible, without receiving it.
    ///
    /// # Errors
    /// Fails with `QueueNotFound` when the queue does not exist.
    async fn peek(&self, queue: &str) -> Result<bool, QueueError>;

    /// Hides a received message for `visibility` from now on; zero makes it visible at once.
    /// Returns the new receipt; the old one is void.
    ///
    /// # Errors
    /// Fails with `MessageLost` when somebody else has received the message since, or it was
    /// deleted.
    async fn renew(
        &self,
        queue: &str,
        receipt: &Receipt,
        visibility: Duration,
    ) -> Result<Receipt, QueueError>;

    /// Deletes a received message.
    ///
    /// # Errors
    /// Fails with `MessageLost` when somebody else has received the message since, or it was
    /// deleted.
    async fn remove(&self, queue: &str, receipt: &Receipt) -> Result<(), QueueError>;
}

/// Passes every call to the shared queues.
#[async_trait]
impl<Q: Queues + ?Sized> Queues for Arc<Q> {
    async fn create(&self, queue: &str) -> Result<(), QueueError> {
        (**self).create(queue).await
    }

    async fn delete(&self, queue: &str) -> Result<(), QueueError> {
        (**self).delete(queue).await
    }

    async fn send(&self, queue: &str, text: &str, delay: Duration) -> Result<(), QueueError> {
        (**self).send(queue, text, delay).await
    }

    async fn receive(
        &self,
        queue: &str,
        most: usize,
        visibility: Duration,
    ) -> Result<Vec<Message>, QueueError> {
        (**self).receive(queue, most, visibility).await
    }

    async fn peek(&self, queue: &str) -> Result<bool, QueueError> {
        (**self).peek(queue).await
    }

    async fn renew(
        &self,
        queue: &str,
        receipt: &Receipt,
        visibility: Duration,
    ) -> Result<Receipt, QueueError> {
        (**self).renew(queue, receipt, visibility).await
    }

    async fn remove(&self, queue: &str, receipt: &Receipt) -> Result<(), QueueError> {
        (**self).remove(queue, receipt).await
    }
}
