//! The requests of a call, as values.

use crate::model::TableName;
use crate::query::{QueryClass, RowQuery};
use crate::store::{Batch, Operation};

/// The requests of one call, in order.
///
/// `Display` lists them with their query class, keys, filter and operations.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The requests.
    pub steps: Vec<Step>,
}

/// One request of a plan, or several whose number the answer to an earlier one decides.
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
        batch: Batch,
    },
    /// One transaction of the differences to the rows that were read, under their ETag. When
    /// another writer comes between, the call starts again.
    CommitChanges {
        /// The table.
        table: TableName,
        /// What is written when nothing is stored; `None` when that is an error.
        absent: Option<Batch>,
        /// How many times it is tried.
        attempts: usize,
    },
}

impl Step {
    /// A read without a limit.
    pub(crate) const fn read(query: RowQuery) -> Self {
        Self::Read { query, limit: None, reason: None }
    }

    /// A write of one row, or of several in a transaction; `None` for no operations.
    pub(crate) fn write(table: TableName, mut batch: Batch) -> Option<Self> {
        if batch.operations.len() > 1 {
            return Some(Self::Commit { table, batch });
        }
        let operation = batch.operations.pop()?;
        Some(Self::Write { table, partition_key: batch.partition_key, operation })
    }
}

impl From<Option<Step>> for Plan {
    fn from(step: Option<Step>) -> Self {
        Self { steps: step.into_iter().collect() }
    }
}

impl From<Step> for Plan {
    fn from(step: Step) -> Self {
        Some(step).into()
    }
}

impl FromIterator<Self> for Plan {
    /// The requests of several calls as those of one.
    fn from_iter<I: IntoIterator<Item = Self>>(plans: I) -> Self {
        Self { steps: plans.into_iter().flat_map(|plan| plan.steps).collect() }
    }
}

impl Plan {
    /// Returns the writes that the call is sure to send, in order; writes that a read decides are
    /// not among them.
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.steps.iter().flat_map(|step| match step {
            Step::Write { operation, .. } => std::slice::from_ref(operation),
            Step::Commit { batch, .. } => &batch.operations,
            _ => &[],
        })
    }

    /// Returns the costliest query class among the reads; `None` when the call only writes.
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
