//! Events to a queue.

use super::event::Event;
use super::handler::Handler;
use crate::error::HandlerError;
use crate::queue::{MAX_MESSAGE_BYTES, Queues};
use std::sync::Arc;
use std::time::Duration;

/// Sends each event to a queue, as one message: [`Event::to_json`].
///
/// A message of more than 48 KiB ([`MAX_MESSAGE_BYTES`]) goes without the rows before and after, which it
/// names as left out. A queue gives its messages back in no particular order, and some twice: `number` orders
/// those of a partition.
///
/// ```
/// use std::sync::Arc;
/// use table_orm::outbox::SendTo;
/// use table_orm::queue::{MemoryQueues, Queues};
/// use table_orm::{ScanPermit, TableEntity, Tables};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "orders", partition = "{customer}", row = "{number:05}", outbox)]
/// struct Order { customer: String, number: u32 }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let orders = Tables::in_memory()?.repo::<Order>();
/// orders.create_table().await?;
/// orders.insert(&Order { customer: "acme".into(), number: 1 }).await?;
/// let queues = Arc::new(MemoryQueues::new());
/// queues.create("order-changes").await?;
/// let queue = SendTo::new(queues.clone(), "order-changes");
/// orders.outbox().dispatch(ScanPermit::because("events"), queue).await.all()?;
/// assert!(queues.peek("order-changes").await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SendTo {
    queues: Arc<dyn Queues>,
    queue: String,
}

impl SendTo {
    /// The queue with that name, which must exist.
    #[must_use]
    pub fn new(queues: Arc<dyn Queues>, queue: impl Into<String>) -> Self {
        Self { queues, queue: queue.into() }
    }
}

impl Handler for SendTo {
    async fn handle(&self, event: Event) -> Result<(), HandlerError> {
        let mut message = event.to_json();
        if message.len() > MAX_MESSAGE_BYTES {
            message = event.without_rows().to_json();
        }
        Ok(self.queues.send(&self.queue, &message, Duration::ZERO).await?)
    }
}
