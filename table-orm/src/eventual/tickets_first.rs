//! Tickets that are made before the transaction that writes their entities.
//!
//! The transaction itself then replaces the read of the canonical rows: it takes effect after all tickets are
//! answered, and what it writes is what the canonical rows say at that moment. So the rows in other partitions are
//! written without another read. If that fails, settling goes on as usual, with a read.
//!
//! Invariant: a transaction that is rejected changes nothing that a ticket could write. Its tickets are deleted;
//! one that stays does nothing, and the next settling of its entity there uses it.

use super::eventual_rows::EventualRows;
use super::ticket::Ticket;
use crate::model::TableName;
use crate::plan::TableClient;
use crate::store::Batch;
use futures_util::future::join_all;
use std::collections::BTreeMap;

/// The tickets of one intent, and what its entities will say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prepared {
    /// In the order of the shares of the intent, each with its table and PartitionKey.
    pub tickets: Vec<(TableName, String, Ticket)>,
    /// By the RowKey of the canonical row; none of one that will be gone.
    pub rows: BTreeMap<String, EventualRows>,
}

impl Prepared {
    /// Deletes the tickets, as far as that can be done.
    pub async fn give_up(&self, home: &TableClient) {
        let deletes = self.tickets.iter().map(|(table, partition_key, ticket)| {
            let (client, partition_key) = (home.in_other_table(table), partition_key.clone());
            let batch = Batch { partition_key, operations: vec![ticket.consume()] };
            async move { drop(client.send(batch).await) }
        });
        join_all(deletes).await;
    }
}
