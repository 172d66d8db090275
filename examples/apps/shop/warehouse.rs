//! The warehouse: another program, which learns of orders from a queue.

use crate::order::Order;
use std::sync::Arc;
use std::time::Duration;
use table_orm::eventual::TableRegister;
use table_orm::outbox::{DispatchReport, SendTo};
use table_orm::queue::{MAX_RECEIVED, QueueError, Queues};
use table_orm::{Repo, Result};

const QUEUE: &str = "orders";
/// After this time, a message that the warehouse received and did not remove comes again.
const HIDDEN: Duration = Duration::from_secs(60);

/// The way from the shop to the warehouse.
#[derive(Debug, Clone)]
pub struct Warehouse(Arc<dyn Queues>);

impl Warehouse {
    /// Creates the queue if it does not exist yet.
    pub async fn open(queues: Arc<dyn Queues>) -> Result<Self, QueueError> {
        queues.create(QUEUE).await?;
        Ok(Self(queues))
    }

    /// Sends all events of orders to the queue: those of the customers that the register names. A shop runs this
    /// every few seconds.
    pub async fn hand_on(&self, orders: &Repo<Order>, register: &TableRegister) -> DispatchReport {
        orders.outbox().dispatch(register, SendTo::new(self.0.clone(), QUEUE)).await
    }

    /// Receives all messages. Some may have come before.
    pub async fn receive(&self) -> Result<Vec<String>, QueueError> {
        let mut texts = Vec::new();
        loop {
            let messages = self.0.receive(QUEUE, MAX_RECEIVED, HIDDEN).await?;
            if messages.is_empty() {
                return Ok(texts);
            }
            for message in messages {
                self.0.remove(QUEUE, &message.receipt).await?;
                texts.push(message.text);
            }
        }
    }
}
