//! Queues in this process, for tests, examples, and apps that run on one machine.
//!
//! Invariant: only the latest pop receipt of a message renews or deletes it. The clock is tokio's,
//! so a paused one lets time-outs pass at once.

use super::{
    Message, QueueError, QueueErrorKind, Queues, Receipt, check_most, check_name, check_text,
    check_time,
};
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// [`Queues`] in memory. Clones share the queues, which last until the last clone is dropped.
///
/// They enforce the service's rules: names of queues, messages of at most
/// [`MAX_MESSAGE_BYTES`](super::MAX_MESSAGE_BYTES), visibility time-outs of one second to seven
/// days, void receipts. Messages do not expire.
///
/// ```
/// use std::time::Duration;
/// use table_orm::queue::{MemoryQueues, Queues};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), table_orm::queue::QueueError> {
/// let queues = MemoryQueues::new();
/// queues.create("jobs").await?;
/// queues.send("jobs", "count the runners", Duration::ZERO).await?;
///
/// let minute = Duration::from_secs(60);
/// let first = queues.receive("jobs", 1, minute).await?;
/// assert_eq!(first[0].text, "count the runners");
/// assert!(!queues.peek("jobs").await?); // hidden until the minute is over
///
/// tokio::time::sleep(minute).await;
/// let again = queues.receive("jobs", 1, minute).await?;
/// assert_eq!(again[0].dequeue_count, 2);
/// assert!(queues.remove("jobs", &first[0].receipt).await.is_err()); // the receipt is void
/// queues.remove("jobs", &again[0].receipt).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryQueues {
    state: Arc<Mutex<QueuesState>>,
}

#[derive(Debug, Default)]
struct QueuesState {
    queues: BTreeMap<String, Vec<StoredMessage>>,
    /// The last number of an id or pop receipt.
    next: u64,
}

#[derive(Debug)]
struct StoredMessage {
    id: u64,
    pop: u64,
    text: String,
    dequeue_count: u64,
    visible_at: Instant,
}

impl QueuesState {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn queue(&mut self, name: &str) -> Result<&mut Vec<StoredMessage>, QueueError> {
        check_name(name)?;
        self.queues.get_mut(name).ok_or_else(|| {
            let message = "there is no such queue; create it first";
            QueueError::new(QueueErrorKind::QueueNotFound, name, message)
        })
    }

    /// Finds the message of a receipt.
    fn find(&mut self, queue: &str, receipt: &Receipt) -> Result<usize, QueueError> {
        let messages = self.queue(queue)?;
        let is_of = |stored: &StoredMessage| {
            stored.id.to_string() == receipt.id && stored.pop.to_string() == receipt.pop
        };
        messages.iter().position(is_of).ok_or_else(|| {
            let message = "somebody else received the message since, or it was deleted, so the \
                           receipt is void";
            QueueError::new(QueueErrorKind::MessageLost, queue, message)
        })
    }
}

impl MemoryQueues {
    /// Makes a store without queues.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, QueuesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Queues for MemoryQueues {
    async fn create(&self, queue: &str) -> Result<(), QueueError> {
        check_name(queue)?;
        self.state().queues.entry(queue.to_owned()).or_default();
        Ok(())
    }

    async fn delete(&self, queue: &str) -> Result<(), QueueError> {
        let mut state = self.state();
        state.queue(queue)?;
        state.queues.remove(queue);
        Ok(())
    }

    async fn send(&self, queue: &str, text: &str, delay: Duration) -> Result<(), QueueError> {
        check_text(queue, text)?;
        check_time(queue, delay, Duration::ZERO)?;
        let mut state = self.state();
        let (id, pop) = (state.number(), state.number());
        let (text, visible_at) = (text.to_owned(), Instant::now() + delay);
        state.queue(queue)?.push(StoredMessage { id, pop, text, dequeue_count: 0, visible_at });
        Ok(())
    }

    async fn receive(
        &self,
        queue: &str,
        most: usize,
        visibility: Duration,
    ) -> Result<Vec<Message>, QueueError> {
        check_most(queue, most)?;
        check_time(queue, visibility, Duration::from_secs(1))?;
        let mut state = self.state();
        let (now, pop) = (Instant::now(), state.number());
        let visible = state.queue(queue)?.iter_mut().filter(|stored| stored.visible_at <= now);
        let received = visible.take(most).map(|stored| {
            stored.pop = pop;
            stored.dequeue_count += 1;
            stored.visible_at = now + visibility;
            let receipt = Receipt::new(stored.id.to_string(), pop.to_string());
            Message::new(&stored.text, stored.dequeue_count, receipt)
        });
        Ok(received.collect())
    }

    async fn peek(&self, queue: &str) -> Result<bool, QueueError> {
        let now = Instant::now();
        Ok(self.state().queue(queue)?.iter().any(|stored| stored.visible_at <= now))
    }

    async fn renew(
        &self,
        queue: &str,
        receipt: &Receipt,
        visibility: Duration,
    ) -> Result<Receipt, QueueError> {
        check_time(queue, visibility, Duration::ZERO)?;
        let mut state = self.state();
        let at = state.find(queue, receipt)?;
        let pop = state.number();
        if let Some(stored) = state.queue(queue)?.get_mut(at) {
            stored.pop = pop;
            stored.visible_at = Instant::now() + visibility;
        }
        Ok(Receipt::new(&receipt.id, pop.to_string()))
    }

    async fn remove(&self, queue: &str, receipt: &Receipt) -> Result<(), QueueError> {
        let mut state = self.state();
        let at = state.find(queue, receipt)?;
        state.queue(queue)?.remove(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::MAX_MESSAGE_BYTES;

    const MINUTE: Duration = Duration::from_secs(60);

    async fn queue() -> MemoryQueues {
        let queues = MemoryQueues::new();
        queues.create("jobs").await.unwrap();
        queues
    }

    fn kind<T: std::fmt::Debug>(answer: Result<T, QueueError>) -> QueueErrorKind {
        answer.unwrap_err().kind
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_hidden_until_its_time_out_and_receives_are_counted() {
        let queues = queue().await;
        queues.send("jobs", "one", Duration::from_secs(5)).await.unwrap();
        assert_eq!(queues.receive("jobs", 1, MINUTE).await.unwrap(), []);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(queues.peek("jobs").await.unwrap());
        for count in 1..4 {
            let received = queues.receive("jobs", 32, MINUTE).await.unwrap();
            assert_eq!((received.len(), received[0].dequeue_count), (1, count));
            assert!(!queues.peek("jobs").await.unwrap());
            tokio::time::sleep(MINUTE).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_latest_receipt_is_valid() {
        let queues = queue().await;
        queues.send("jobs", "one", Duration::ZERO).await.unwrap();
        let mut message = queues.receive("jobs", 1, MINUTE).await.unwrap().remove(0);
        let stale = message.clone();
        tokio::time::sleep(MINUTE / 2).await;
        message.receipt = queues.renew("jobs", &message.receipt, MINUTE).await.unwrap();
        assert_eq!(
            kind(queues.renew("jobs", &stale.receipt, MINUTE).await),
            QueueErrorKind::MessageLost
        );
        tokio::time::sleep(MINUTE / 2).await;
        assert_eq!(queues.receive("jobs", 1, MINUTE).await.unwrap(), [], "renewed");
        message.receipt = queues.renew("jobs", &message.receipt, Duration::ZERO).await.unwrap();
        let next = queues.receive("jobs", 1, MINUTE).await.unwrap().remove(0);
        assert_eq!(next.dequeue_count, 2, "released");
        let lost = queues.remove("jobs", &message.receipt).await;
        assert_eq!(kind(lost), QueueErrorKind::MessageLost);
        queues.remove("jobs", &next.receipt).await.unwrap();
        let gone = queues.remove("jobs", &next.receipt).await;
        assert_eq!(kind(gone), QueueErrorKind::MessageLost);
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_service_refuses_is_refused() {
        let queues = queue().await;
        let missing = queues.send("other", "text", Duration::ZERO).await;
        assert_eq!(kind(missing), QueueErrorKind::QueueNotFound);
        let week = Duration::from_secs(7 * 24 * 3600);
        let second = Duration::from_secs(1);
        for rejected in [
            queues.create("No").await,
            queues.send("jobs", &"x".repeat(MAX_MESSAGE_BYTES + 1), Duration::ZERO).await,
            queues.send("jobs", "text", week + second).await,
            queues.receive("jobs", 0, MINUTE).await.map(drop),
            queues.receive("jobs", 33, MINUTE).await.map(drop),
            queues.receive("jobs", 1, Duration::ZERO).await.map(drop),
            queues.receive("jobs", 1, week + second).await.map(drop),
        ] {
            assert_eq!(kind(rejected), QueueErrorKind::Invalid);
        }
        queues.send("jobs", &"x".repeat(MAX_MESSAGE_BYTES), week).await.unwrap();
        queues.delete("jobs").await.unwrap();
        assert_eq!(kind(queues.delete("jobs").await), QueueErrorKind::QueueNotFound);
    }
}
