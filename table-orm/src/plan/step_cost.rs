//! The cost of each step, and of a plan.

use super::cost::{Bounds, Cost};
use super::step::{Plan, Step, WhenAbsent};
use crate::model::MAX_TRANSACTION_OPERATIONS;
use crate::store::Batch;

impl Step {
    /// Returns what the requests of this step cost. A [`ReadCanonical`](Self::ReadCanonical) by itself has no
    /// upper bound; [`Plan::cost`] knows the step before it.
    #[must_use]
    pub fn cost(&self) -> Cost {
        match self {
            Self::Read { query, limit, .. } => Cost::read(query, *limit),
            Self::ReadCanonical { .. } => Cost::point_queries(Bounds::from(0)),
            Self::Write { operation, .. } => Cost::of(std::slice::from_ref(operation)),
            Self::Commit { batch: Batch { operations, .. }, .. } => Cost::of(operations),
            Self::CommitChanges { cost, absent, .. } => match absent {
                WhenAbsent::Insert(batch) => cost.or(Cost::of(&batch.operations)),
                WhenAbsent::Fail | WhenAbsent::InsertMade => *cost,
            },
            Self::CommitReads { .. } => Cost::changes(MAX_TRANSACTION_OPERATIONS),
            Self::ReadFirst { cost, .. }
            | Self::DeleteValues { cost, .. }
            | Self::Settle { cost, .. }
            | Self::SettleWithTickets { cost, .. } => *cost,
            Self::MakeTickets { partitions } if partitions.is_empty() => Cost::UNBOUNDED,
            Self::MakeTickets { partitions } => {
                let tickets = Bounds::exactly(partitions.len() as u64);
                Cost::writes(tickets, tickets)
            }
            // The name, and later its removal.
            Self::Register { .. } => Cost::writes(Bounds::up_to(2), Bounds::up_to(2)),
            Self::Reserve { guards } => {
                let guards = guards.len() as u64;
                // A ticket for the entities of one type.
                let requests = Bounds::between(guards + 1, 2 * guards);
                Cost::writes(requests, requests)
            }
            Self::Release { guards } => {
                let guards = guards.len() as u64;
                let reads = Cost::point_queries(Bounds::between(guards, 3 * guards));
                let deletes = Bounds::up_to(guards + 1);
                reads + Cost::writes(deletes, deletes)
            }
        }
    }
}

impl Plan {
    /// Returns what the requests cost together: those that the plan lists, and those that it says how to count.
    ///
    /// The format `{:#}` prints the plan with its cost as the last line.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// let plan = invoices.list(Invoice::partition("acme").row().number_in(..10)).plan()?;
    /// assert_eq!(plan.cost().to_string(), "1 or more billed transactions; reads 0 or more rows");
    /// assert!(format!("{plan:#}").ends_with("\ncosts 1 or more billed transactions; reads 0 or more rows"));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cost(&self) -> Cost {
        let mut before = Cost::NOTHING;
        let costs = self.steps.iter().map(|step| {
            let cost = match step {
                // One for each row that was found, at most.
                Step::ReadCanonical { .. } => {
                    Cost::point_queries(Bounds { least: 0, most: before.rows_read.most })
                }
                step => step.cost(),
            };
            before = cost;
            cost
        });
        costs.sum()
    }
}
