//! The requests of a call, as values.

use super::cost::{Cost, PlacedCost};
use crate::model::TableName;
use crate::query::{QueryClass, RowQuery};
use crate::store::{Batch, Operation};
use std::time::Duration;

/// The requests of one call, in order.
///
/// `Display` lists them with their query class, keys, filter and operations, for a log or a test.
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
/// let acme = invoices.list(Invoice::partition("acme").row().number_in(10..));
/// let plan = acme.filter(|row| row.paid.eq(false)).plan()?;
/// println!("{plan}");
/// let text = plan.to_string();
/// assert!(text.starts_with("row range query on `invoices`"));
/// assert!(text.contains("RowKey ge '00010'") && text.contains("Paid eq false"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Plan {
    /// The requests.
    pub steps: Vec<Step>,
}

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
    /// Joins the requests of several calls.
    fn from_iter<I: IntoIterator<Item = Self>>(plans: I) -> Self {
        Self { steps: plans.into_iter().flat_map(|plan| plan.steps).collect() }
    }
}

impl Plan {
    /// Returns the writes that the call is sure to send, in order. Leaves out writes that depend on a read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// let track = |number| Track { album: "Blue".into(), number, title: "-".into() };
    /// let blue = tracks.transaction(Track::partition("Blue")).insert(&track(1)).insert(&track(2));
    /// let plan = blue.plan()?;
    /// let keys: Vec<_> = plan.operations().map(|operation| operation.row_key.as_str()).collect();
    /// assert_eq!(keys, ["01", "02"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.steps.iter().flat_map(|step| match step {
            Step::Write { operation, .. } => std::slice::from_ref(operation),
            Step::Commit { batch, .. } => &batch.operations,
            _ => &[],
        })
    }

    /// Returns the costliest query class among the reads; `None` when the call only writes.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// use table_orm::query::QueryClass;
    /// let blue = Track::partition("Blue");
    /// let point = tracks.get(blue.row().number(1)).plan()?;
    /// assert_eq!(point.class(), Some(QueryClass::Point));
    /// let some = tracks.list(blue.row().number_in(..5)).plan()?;
    /// assert_eq!(some.class(), Some(QueryClass::RowRange));
    /// # Ok(())
    /// # }
    /// ```
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
