//! One request of a call, as a value.

use super::cost::{Cost, PlacedCost};
use crate::model::TableName;
use crate::query::RowQuery;
use crate::store::{Batch, Operation};
use std::time::Duration;

/// One request of a plan, or several requests whose number the answer to an earlier one decides.
///
/// ```
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
/// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let invoices = Tables::in_memory()?.repo::<Invoice>();
/// # invoices.create_table().await?;
/// use table_orm::plan::Step;
/// let plan = invoices.get(Invoice::partition("acme").row().number(1)).plan()?;
/// assert!(matches!(&plan.steps[..], [Step::Read { query, .. }] if query.filter.is_none()));
/// let invoice = Invoice { customer: "acme".into(), number: 1, cents: 900, paid: false };
/// let plan = invoices.insert(&invoice).plan()?;
/// assert!(matches!(&plan.steps[..], [Step::Write { partition_key, .. }] if partition_key == "acme"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// A read of rows. Every query except a point query repeats for each page.
    Read {
        /// Keys, filter, projection.
        query: RowQuery,
        /// The most rows the call reads in all.
        limit: Option<usize>,
        /// The reason of the permit to scan.
        reason: Option<String>,
    },
    /// A point query for the canonical row of each entity that the step before found.
    ReadCanonical {
        /// The table.
        table: TableName,
    },
    /// The transactions that write what follows from the entities which the reads before find.
    WriteFound {
        /// The table.
        table: TableName,
        /// What they cost for each entity. Entities of one partition share transactions.
        of_each: PlacedCost,
    },
    /// A write of one row.
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
    /// One transaction with the changes to the rows that were read, under their ETag. The call starts
    /// again when another writer changed the rows in between.
    CommitChanges {
        /// The table.
        table: TableName,
        /// What it does when nothing is stored.
        absent: WhenAbsent,
        /// The most attempts, if the call sets a number.
        attempts: Option<usize>,
        /// How long it starts again.
        retry_for: Duration,
        /// What it costs, without conflicts, if an entity is stored.
        cost: Cost,
    },
    /// One transaction with the writes of a function of the app, and the condition that the entities which
    /// the function read are unchanged. The call starts again when another writer changed one in between.
    CommitReads {
        /// The table.
        table: TableName,
        /// The PartitionKey of all rows.
        partition_key: String,
        /// The most attempts, if the call sets a number.
        attempts: Option<usize>,
        /// How long it starts again.
        retry_for: Duration,
    },
    /// A request that names the partition in the register of the table, unless one of the last minute has. A
    /// minute after the last such call, one request removes it. The name of a partition with events stays.
    Register {
        /// The register's table.
        table: TableName,
    },
    /// The point queries before a transaction that changes totals or adds events. They read the totals, the number
    /// of the next event and, where the outcome depends on them, the rows that it replaces. The transaction also
    /// has an operation for each total, one for each event, and one for the number. Queries and transaction are
    /// sent again when another writer changed one of these rows in between.
    ReadFirst {
        /// The table.
        table: TableName,
        /// Whether totals may change.
        totals: bool,
        /// Whether events are added.
        events: bool,
        /// What the queries cost, and the operations that the transaction has for them.
        cost: Cost,
    },
    /// The requests that reserve values which are unique over all partitions: the insert of a ticket beside the
    /// entity, and of a guard row for each value. The transaction after it deletes the ticket, in the version
    /// that the answer to its insert states.
    Reserve {
        /// The tables and the PartitionKeys of the guard rows.
        guards: Vec<(TableName, String)>,
    },
    /// The deletes of the rows of large values that the transaction before replaces, but for the first row of each,
    /// which the transaction deletes.
    DeleteValues {
        /// The table.
        table: TableName,
        /// How many rows; `None` if the answer to a read decides.
        rows: Option<u64>,
        /// What the requests cost.
        cost: Cost,
    },
    /// The inserts of tickets before the transaction that writes the entities, as `tickets_first()` makes them.
    MakeTickets {
        /// The partition of each ticket, with its table; none if the answer to a read decides.
        partitions: Vec<(TableName, String)>,
        /// What they cost.
        cost: PlacedCost,
    },
    /// The requests that bring rows in other partitions in step with the tickets of a
    /// [`MakeTickets`](Self::MakeTickets): a transaction in each partition, and the delete of the intent.
    SettleWithTickets {
        /// The partitions, with their tables; none if the answer to a read decides.
        partitions: Vec<(TableName, String)>,
        /// What they cost.
        cost: PlacedCost,
    },
    /// The requests that bring rows in other partitions in step: a ticket in each partition, a read of the
    /// canonical row, a transaction in each partition, and the delete of the intent. Of no request if no row
    /// in another partition changes. Where the answer to a read decides that, it also has the requests of a
    /// [`Reserve`](Self::Reserve) and a [`Release`](Self::Release).
    Settle {
        /// The partitions, with their tables; none if the answer to a read decides.
        partitions: Vec<(TableName, String)>,
        /// What these requests cost.
        cost: PlacedCost,
    },
    /// The requests that release values which are unique over all partitions: for each a read of the guard row,
    /// of its ticket and of the canonical row, and the delete of the guard row; then the delete of the intent,
    /// unless a [`Settle`](Self::Settle) deletes it.
    Release {
        /// The tables and the PartitionKeys of the guard rows.
        guards: Vec<(TableName, String)>,
    },
}

/// What a call that changes stored rows does when nothing is stored.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WhenAbsent {
    /// It fails with [`Error::NotFound`](crate::Error::NotFound).
    Fail,
    /// It sends these writes.
    Insert(Batch),
    /// It inserts the entity that a function of the app makes then.
    InsertMade,
}

impl Step {
    /// A read without a limit.
    pub(crate) const fn read(query: RowQuery) -> Self {
        Self::Read { query, limit: None, reason: None }
    }

    /// A write of one row, or a transaction of several; `None` for no operations.
    pub(crate) fn write(table: TableName, mut batch: Batch) -> Option<Self> {
        if batch.operations.len() > 1 {
            return Some(Self::Commit { table, batch });
        }
        let operation = batch.operations.pop()?;
        Some(Self::Write { table, partition_key: batch.partition_key, operation })
    }
}
