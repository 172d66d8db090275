//! Queues of short messages, delivered at least once: what a [`Queues`] is, and its errors.
//!
//! Workers on many machines learn from a queue what there is to do. A message that was received is
//! hidden from others for a while, its visibility time-out; unless it is deleted by then, it is
//! delivered again. So a worker that dies loses nothing, and every message may come twice.

mod error;
mod memory;
mod rules;

pub use error::{QueueError, QueueErrorKind};
pub use memory::MemoryQueues;
pub use rules::MAX_MESSAGE_BYTES;
pub(crate) use rules::check_name;
#[cfg(feature = "azure-queue")]
pub(crate) use rules::{check_most, check_text, check_time};

use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most messages that one request receives (service documentation, "Get Messages").
pub const MAX_RECEIVED: usize = 32;
/// The longest visibility time-out: seven days (service documentation, "Get Messages").
pub const MAX_VISIBILITY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A message that was received, and is hidden from others until its visibility time-out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// Its text, as it was sent.
    pub text: String,
    /// How often it was received, this time included.
    pub dequeue_count: u64,
    /// What renewing and deleting it takes.
    pub receipt: Receipt,
}

/// Which message was received, and when: the proof that it is not another's by now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The message's id.
    pub id: String,
    /// The pop receipt of the latest receive or renewal; earlier ones are void.
    pub pop: String,
}

impl Message {
    /// A message, as a backend received it.
    #[must_use]
    pub fn new(text: impl Into<String>, dequeue_count: u64, receipt: Receipt) -> Self {
        Self { text: text.into(), dequeue_count, receipt }
    }
}

impl Receipt {
    /// The receipt of a message of that id.
    #[must_use]
    pub fn new(id: impl Into<String>, pop: impl Into<String>) -> Self {
        Self { id: id.into(), pop: pop.into() }
    }
}

/// A backend that keeps queues.
///
/// Every method is one request. Messages come in no order, and may come more than once.
#[async_trait]
pub trait Queues: fmt::Debug + Send + Sync {
    /// Creates a queue; one that is there already stays as it is.
    ///
    /// # Errors
    /// For a name that no queue can have, or when there is no answer.
    async fn create(&self, queue: &str) -> Result<(), QueueError>;

    /// Deletes a queue with all its messages.
    ///
    /// # Errors
    /// `QueueNotFound` when there is none.
    async fn delete(&self, queue: &str) -> Result<(), QueueError>;

    /// Sends a message, that nobody receives before `delay` has passed, at most [`MAX_VISIBILITY`].
    ///
    /// # Errors
    /// `QueueNotFound`; `Invalid` for a text longer than [`MAX_MESSAGE_BYTES`].
    async fn send(&self, queue: &str, text: &str, delay: Duration) -> Result<(), QueueError>;

    /// Receives up to `most` messages, 1 to [`MAX_RECEIVED`], and hides each from others for
    /// `visibility`, one second to [`MAX_VISIBILITY`]. None where none is visible.
    ///
    /// # Errors
    /// `QueueNotFound`.
    async fn receive(
        &self,
        queue: &str,
        most: usize,
        visibility: Duration,
    ) -> Result<Vec<Message>, QueueError>;

    /// Whether a message is visible. Receives none.
    ///
    /// # Errors
    /// `QueueNotFound`.
    async fn peek(&self, queue: &str) -> Result<bool, QueueError>;

    /// Hides a received message for `visibility` from now on; none at all releases it. The receipt
    /// given is void from then on, the one returned takes its place.
    ///
    /// # Errors
    /// `MessageLost` when somebody else received the message meanwhile, or it is gone.
    async fn renew(
        &self,
        queue: &str,
        receipt: &Receipt,
        visibility: Duration,
    ) -> Result<Receipt, QueueError>;

    /// Deletes a received message.
    ///
    /// # Errors
    /// `MessageLost` when somebody else received the message meanwhile, or it is gone.
    async fn remove(&self, queue: &str, receipt: &Receipt) -> Result<(), QueueError>;
}

/// Shared queues are queues.
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
