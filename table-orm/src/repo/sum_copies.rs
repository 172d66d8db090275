//! Sums over all partitions: the copies of totals, read and compared with the totals.
//!
//! Invariant: a copy is judged only if the rows of its total are the same before and after it is read, and by the
//! intents that are read in between, before the copy. A copy that differs then and that no intent lists is wrong.

use super::sums::{StoredTotal, StoredTotals, declared, pages, to_i64};
use super::verify_sums::{SumProblem, WrongSum};
use crate::entity::{
    COPIES, ReadRow as _, Sum, TableEntity, Total, TotalRow, copied_total, copies_partition,
    read_row, read_row_in_context, split_page,
};
use crate::error::{Error, Result, SumError};
use crate::eventual::{
    DueEntry, EventualKey, EventualType, SettleError, pending_keys, settle_keys,
};
use crate::plan::{Attempts, RetryLimits};
use crate::query::Span;
use crate::repo::Repo;
use crate::repo::get::MAX_PARALLEL_GETS;
use crate::sync::Concurrent;
use std::collections::{BTreeMap, BTreeSet};

/// How often copies are compared whose totals change meanwhile.
const MAX_COMPARISONS: usize = 5;

/// A copy of one row of a total.
struct Copy {
    due: DueEntry,
    value: i64,
}

impl<E: TableEntity> Repo<E> {
    /// Returns the sum over all partitions: adds up the copies of the totals, by one query of the partition
    /// `SUM:<name>`, in pages of 1,000. For a sum by group, it adds up all groups.
    ///
    /// A copy follows its total as an `eventual` row follows its entity: the sum may lack what was just written. It
    /// is exact once every intent is settled and nobody writes.
    ///
    /// ```
    /// # use table_orm::{Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// # struct Order { customer: String, number: u32 }
    /// # impl Order {
    /// #     const SUMS: &'static [Sum<Self>] = &[Self::COUNT];
    /// const COUNT: Sum<Order> = Sum::count("orders").over_partitions();
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// for (customer, number) in [("acme", 1), ("acme", 2), ("bolt", 1)] {
    ///     orders.insert(&Order { customer: customer.into(), number }).await?;
    /// }
    /// assert_eq!(orders.sum(Order::partition("acme"), &Order::COUNT).await?, 2);
    /// assert_eq!(orders.sum_over_partitions(&Order::COUNT).await?, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SumError::Undeclared`] for a sum that is not one of the type's `sums`, [`SumError::OfOnePartition`] for one
    /// without [`over_partitions`](Sum::over_partitions), and [`SumError::Overflow`] when the sum does not fit `i64`.
    pub async fn sum_over_partitions(&self, sum: &Sum<E>) -> Result<i64> {
        let groups = self.added_up(sum).await?;
        let partition_key = copies_partition(sum.name());
        Ok(to_i64(&partition_key, COPIES.to_owned(), groups.into_values().sum())?)
    }

    /// Returns the sums over all partitions of a sum by group. Groups without entities have 0, or are absent.
    ///
    /// ```
    /// # use table_orm::{Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// # struct Order { customer: String, number: u32, state: String }
    /// # impl Order {
    /// #     const SUMS: &'static [Sum<Self>] = &[Self::BY_STATE];
    /// const BY_STATE: Sum<Order> =
    ///     Sum::by_group("state", |order: &Order| (order.state.clone(), 1)).over_partitions();
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// for (customer, state) in [("acme", "open"), ("bolt", "open"), ("cord", "paid")] {
    ///     orders.insert(&Order { customer: customer.into(), number: 1, state: state.into() }).await?;
    /// }
    /// let states = orders.sum_over_partitions_by_group(&Order::BY_STATE).await?;
    /// assert_eq!((states["open"], states["paid"]), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`sum_over_partitions`](Self::sum_over_partitions).
    pub async fn sum_over_partitions_by_group(
        &self,
        sum: &Sum<E>,
    ) -> Result<BTreeMap<String, i64>> {
        let partition_key = copies_partition(sum.name());
        let groups = self.added_up(sum).await?.into_iter();
        let group = |(group, total): (String, i128)| {
            let total = to_i64(&partition_key, format!("{COPIES}{group}"), total)?;
            Ok((group, total))
        };
        groups.map(group).collect()
    }

    /// The copies of the totals of each group.
    async fn added_up(&self, sum: &Sum<E>) -> Result<BTreeMap<String, i128>> {
        let sum = declared(sum)?;
        if !sum.is_over_partitions() {
            return Err(SumError::OfOnePartition { name: sum.name() }.into());
        }
        let (partition_key, rows) = (copies_partition(sum.name()), Span::prefix(COPIES));
        self.client.requires_all_rows(&partition_key)?;
        let mut pages = pages(&self.client, &partition_key, rows, TotalRow::METADATA);
        let mut groups = BTreeMap::<String, i128>::new();
        while let Some(body) = pages.next().await? {
            for row in split_page(&body)? {
                let (TotalRow(value), context) =
                    read_row_in_context::<TotalRow>(0, row.get().as_bytes(), None)?;
                let group = sum.group_of_copy(&context.row_key)?;
                *groups.entry(group).or_default() += i128::from(value);
            }
        }
        Ok(groups)
    }

    /// Compares the copies of the totals of a partition with the totals. Returns those that differ.
    pub(super) async fn compare_copies(
        &self,
        partition_key: &str,
        repairs: bool,
    ) -> Result<Vec<WrongSum>> {
        let mut sums = E::sums();
        sums.retain(Sum::is_over_partitions);
        if sums.is_empty() {
            return Ok(Vec::new());
        }
        let kind = EventualType::of::<E>();
        let limits = RetryLimits { attempts: Some(MAX_COMPARISONS), ..RetryLimits::default() };
        let mut attempts = Attempts::begin(&self.client.connection, limits);
        loop {
            let before = self.totals(partition_key, &sums).await?;
            let pending = pending_keys(&self.client, kind, partition_key).await?;
            let copies = self.copies(partition_key, &sums, &before).await?;
            let after = self.totals(partition_key, &sums).await?;
            let (mut wrong, mut due, mut changed) = (Vec::new(), Vec::new(), false);
            for (total, copies) in copies {
                let (stored, was) = (after.get(&total), before.get(&total));
                let problem = if stored != was {
                    changed = true;
                    Some(SumProblem::CopyPending)
                } else {
                    problem(&copies, stored, &pending)
                };
                let Some(problem) = problem else { continue };
                wrong.push(WrongSum {
                    name: total.name,
                    group: total.group,
                    stored: copies.iter().map(|copy| i128::from(copy.value)).sum(),
                    counted: stored.map_or(0, |stored| stored.total),
                    problem,
                });
                due.extend(copies.into_iter().map(|copy| copy.due));
            }
            if changed && attempts.next().await {
                continue;
            }
            if repairs {
                match settle_keys(&self.client, kind, partition_key, &due).await {
                    // Others write what could not be written.
                    Ok(()) | Err(SettleError::Contended { .. } | SettleError::Unknown { .. }) => {}
                    Err(SettleError::Store(error)) => return Err(error),
                    Err(SettleError::Row { source, .. }) => return Err(*source),
                }
            }
            return Ok(wrong);
        }
    }

    /// The copies that the totals should have, as they are stored.
    async fn copies(
        &self,
        partition_key: &str,
        sums: &[Sum<E>],
        stored: &StoredTotals,
    ) -> Result<BTreeMap<Total, Vec<Copy>>> {
        let single = sums.iter().filter_map(Sum::only_total);
        let totals: BTreeSet<_> = stored.keys().cloned().chain(single).collect();
        let mut due = Vec::new();
        for total in totals {
            let rows = stored.get(&total).into_iter().flat_map(|stored| stored.rows.keys());
            // A sum that has fewer rows than it had keeps the others.
            let others = rows.filter_map(|row_key| copied_total::<E>(row_key));
            let shards = (0..total.shards).chain(others.map(|(_, shard)| shard));
            for shard in shards.collect::<BTreeSet<_>>() {
                let entry = DueEntry::of_copy(&self.client.table, partition_key, &total, shard)?;
                due.push((total.clone(), entry));
            }
        }
        let read = due.into_iter().map(|(total, due)| async move {
            let value = self.copy(&due).await?;
            Ok::<_, Error>((total, Copy { due, value }))
        });
        let mut read = Concurrent::in_order(read, MAX_PARALLEL_GETS);
        let mut copies = BTreeMap::<_, Vec<_>>::new();
        while let Some(read) = read.next().await {
            let (total, copy) = read?;
            copies.entry(total).or_default().push(copy);
        }
        Ok(copies)
    }

    /// What a copy holds; 0 where there is none.
    async fn copy(&self, due: &DueEntry) -> Result<i64> {
        let Some((_, key)) = due.keys.first() else { return Ok(0) };
        let row = self.client.annotated_row(&key.partition_key, &key.row_key).await?;
        Ok(match row {
            Some(row) => read_row::<TotalRow>(0, &row.body)?.0,
            None => 0,
        })
    }
}

/// What is wrong with the copies of a total that did not change; `None` where they are right.
fn problem(
    copies: &[Copy],
    stored: Option<&StoredTotal>,
    pending: &BTreeSet<EventualKey>,
) -> Option<SumProblem> {
    let rows = stored.map(|stored| &stored.rows);
    let in_total = |copy: &Copy| {
        rows.and_then(|rows| rows.get(&copy.due.canonical)).map_or(0, |(value, _)| *value)
    };
    let is_listed = |copy: &Copy| copy.due.keys.iter().any(|(_, key)| pending.contains(key));
    let mut differing = copies.iter().filter(|copy| copy.value != in_total(copy)).peekable();
    differing.peek()?;
    Some(if differing.all(is_listed) { SumProblem::CopyPending } else { SumProblem::CopyDiffers })
}
