//! The cost of each step, and of a plan.

use super::call_plan::Plan;
use super::cost::{Bounds, Cost, PlacedCost};
use super::step::{Step, WhenAbsent};
use crate::model::MAX_TRANSACTION_OPERATIONS;
use crate::store::Batch;

impl Step {
    /// Returns what the requests of this step cost. A [`ReadCanonical`](Self::ReadCanonical) by itself has no
    /// upper bound; [`Plan::cost`] knows the step before it.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.placed_cost().all()
    }

    /// The same, apart for each place.
    pub(crate) fn placed_cost(&self) -> PlacedCost {
        match self {
            Self::Read { query, limit, .. } => Cost::read(query, *limit).into(),
            Self::ReadCanonical { .. } => Cost::point_queries(Bounds::from(0)).into(),
            Self::WriteFound { of_each, .. } => of_each.times(Bounds::from(0)),
            Self::Write { operation, .. } => Cost::of(std::slice::from_ref(operation)).into(),
            Self::Commit { batch: Batch { operations, .. }, .. } => Cost::of(operations).into(),
            Self::CommitChanges { cost, absent, .. } => match absent {
                WhenAbsent::Insert(batch) => cost.or(Cost::of(&batch.operations)).into(),
                WhenAbsent::Fail | WhenAbsent::InsertMade => (*cost).into(),
            },
            // The function reads what it wants.
            Self::CommitReads { .. } => {
                let changes = Cost::changes(MAX_TRANSACTION_OPERATIONS);
                (changes + Cost::point_queries(Bounds::from(0))).into()
            }
            Self::ReadFirst { cost, .. } | Self::DeleteValues { cost, .. } => (*cost).into(),
            Self::MakeTickets { cost, .. }
            | Self::Settle { cost, .. }
            | Self::SettleWithTickets { cost, .. } => *cost,
            // The name, and later its removal.
            Self::Register { .. } => Cost::writes(Bounds::up_to(2), Bounds::up_to(2)).into(),
            Self::Reserve { guards } => {
                let guards = guards.len() as u64;
                // A ticket for the entities of one type.
                PlacedCost::reserving(Bounds::exactly(guards), Bounds::between(1, guards))
            }
            Self::Release { guards } => PlacedCost::releasing(Bounds::exactly(guards.len() as u64)),
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
        self.cost_where(None)
    }

    /// Returns what the requests cost if each read of a range finds that many rows, as `explain()` of a query or
    /// scan counts them. So the cost of a call that writes what it finds has bounds, too.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "runners", partition = "{race}")]
    /// # #[row(by_bib, key = "BIB:{bib:05}")]
    /// # #[row(by_age, key = "AGE:{age:03}__{bib:05}")]
    /// # struct Runner { race: String, bib: u32, age: u8 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let runners = Tables::in_memory()?.repo::<Runner>();
    /// # runners.create_table().await?;
    /// # runners.insert_many((0..400).map(|bib| Runner { race: "Boston".into(), bib, age: 40 })).await.all()?;
    /// let boston = Runner::partition("Boston");
    /// let delete = runners.delete_partition(&boston).plan()?;
    /// assert_eq!((delete.cost().rows_written.least, delete.cost().rows_written.most), (0, None));
    /// let found = runners.list(&boston).explain().await?.matching;
    /// let cost = delete.cost_of(found);
    /// assert_eq!((cost.rows_written.least, cost.rows_written.most), (400, Some(800)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn cost_of(&self, rows: u64) -> Cost {
        self.cost_where(Some(rows))
    }

    fn cost_where(&self, rows: Option<u64>) -> Cost {
        let mut found = Bounds::NONE;
        let costs = self.steps.iter().map(|step| {
            let cost = match (step, rows) {
                (Step::Read { query, limit, .. }, Some(rows)) => {
                    let rows = limit.map_or(rows, |limit| rows.min(limit as u64));
                    Cost::read(query, *limit).finding(rows)
                }
                (Step::ReadCanonical { .. }, _) => Cost::point_queries(found),
                (Step::WriteFound { of_each, .. }, _) => of_each.times(found).all(),
                (step, _) => step.cost(),
            };
            found = match (step, rows) {
                (Step::Read { limit, .. }, Some(rows)) => {
                    let rows = limit.map_or(rows, |limit| rows.min(limit as u64));
                    let most = cost.rows_read.most.map_or(rows, |most| most.min(rows));
                    Bounds::exactly(most)
                }
                // One for each row that was read, at most.
                _ => Bounds { least: 0, most: cost.rows_read.most },
            };
            cost
        });
        costs.sum()
    }
}
