//! What a call will send: made before anything is sent, readable by people.
//!
//! A read or write on a [`Repo`](crate::Repo) can be asked for its plan instead of being awaited, but
//! for [`delete_partition`](crate::Repo::delete_partition). A write of many entities reads its whole
//! input for that.

mod changes;
mod connection;
mod display;
mod optimistic;
mod table_client;

pub(crate) use changes::{
    UpdateMode, changes, delete_all, insert_all, merge_all, replace_all, upsert_all,
};

pub(crate) use connection::Connection;
pub use optimistic::MAX_ATTEMPTS;
pub(crate) use optimistic::{CanonicalKey, Decision, retry_on_conflict};
pub(crate) use table_client::{EntityContext, TableClient};

use crate::model::TableName;
use crate::query::{QueryClass, RowQuery};
use crate::store::{Batch, Operation};

/// The requests of one call, in order.
///
/// `Display` lists them with their query class, keys, filter and operations.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The requests.
    pub steps: Vec<Step>,
}

/// One request of a plan, or what is decided by its answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Reads rows; a query other than a point query repeats for each page.
    Read {
        /// Keys, filter, projection.
        query: RowQuery,
        /// The most rows the call reads in all.
        limit: Option<usize>,
        /// Why a scan is permitted.
        reason: Option<String>,
    },
    /// Reads the canonical row of each entity that the step before found.
    ReadCanonical {
        /// The table.
        table: TableName,
    },
    /// Writes one row.
    Write {
        /// The table.
        table: TableName,
        /// The row's PartitionKey.
        partition_key: String,
        /// The write.
        operation: Operation,
    },
    /// An entity group transaction.
    Commit {
        /// The table.
        table: TableName,
        /// The writes.
        transaction: Batch,
    },
    /// One transaction by the difference to the rows that were read,  retry_on_conflict by their ETag;
    /// repeated from the start when another writer came between.
    CommitChanges {
        /// The table.
        table: TableName,
        /// What is written when nothing was there; `None` when that is an error.
        absent: Option<Batch>,
        /// How often it is tried.
        attempts: usize,
    },
}

impl Plan {
    /// One read.
    pub(crate) fn read(query: RowQuery) -> Self {
        Self { steps: vec![Step::Read { query, limit: None, reason: None }] }
    }

    /// One write: of a row, or of several in a transaction; nothing for no operations.
    pub(crate) fn write(table: &TableName, mut transaction: Batch) -> Self {
        let table = table.clone();
        let steps = match transaction.operations.len() {
            0 => Vec::new(),
            1 => match transaction.operations.pop() {
                Some(operation) => {
                    vec![Step::Write { table, partition_key: transaction.partition_key, operation }]
                }
                None => Vec::new(),
            },
            _ => vec![Step::Commit { table, transaction }],
        };
        Self { steps }
    }

    /// The writes it is sure to send, in order; those that a read decides are not among them.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.steps.iter().flat_map(|step| match step {
            Step::Write { operation, .. } => std::slice::from_ref(operation),
            Step::Commit { transaction, .. } => &transaction.operations,
            _ => &[],
        })
    }

    /// The costliest query class among its reads; `None` when it only writes.
    #[must_use]
    pub fn class(&self) -> Option<QueryClass> {
        self.steps
            .iter()
            .filter_map(|step| match step {
                Step::Read { query, .. } => Some(query.keys.class()),
                Step::ReadCanonical { .. } => Some(QueryClass::Point),
                _ => None,
            })
            .max()
    }
}
