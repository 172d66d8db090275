//! Totals over the entities of a partition, counted again and corrected.
//!
//! Invariant: a total is judged only while the rows that hold it are as they were before and after the entities
//! were counted. Every write that changes a total changes one of those rows. Each total is judged by itself: writes
//! that change another one do not disturb it. What it lacks then stays the same whatever the app writes, until it
//! is corrected in its first row, in the version that was read.

use super::sums::{StoredTotal, StoredTotals, pages, to_i64};
use crate::entity::{
    Contributions, RowOf, SummedType, TableEntity, Total, WholePartition, canonical_rows,
    split_page,
};
use crate::error::{Error, Result};
use crate::eventual::{Intents, Settling};
use crate::plan::{Attempts, CanonicalKey, RetryLimits, total_row};
use crate::repo::Repo;
use crate::store::Batch;
use std::collections::BTreeSet;

/// How often [`verify_sums`](Repo::verify_sums) counts a partition whose totals change meanwhile.
const MAX_COUNTS: usize = 5;

/// A total that differs from the sum over the stored entities, or that changed during each count.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrongSum {
    /// The name of the [`Sum`](crate::Sum).
    pub name: &'static str,
    /// The group, for a sum by group.
    pub group: Option<String>,
    /// The stored total; 0 where none was stored.
    pub stored: i128,
    /// The sum over the stored entities.
    pub counted: i128,
    /// What is known of the total.
    pub problem: SumProblem,
}

/// What is known of a total that a count found different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SumProblem {
    /// It was wrong: nobody changed it while the entities were counted.
    Differs,
    /// It changed during each count, so it may be right. It was not corrected. `stored` and `counted` are of the
    /// last count, during which entities changed.
    Pending,
    /// Its copy, of which the sum over all partitions is made, was wrong: no intent listed it. `stored` is the
    /// copy, and `counted` the total.
    CopyDiffers,
    /// Its copy has still to follow: an intent lists it. [`Repo::settle`](crate::Repo::settle) brings it in step.
    CopyPending,
}

impl<E: TableEntity> Repo<E> {
    /// Counts the sums of the type again in a partition, and returns the totals that are wrong. A total is
    /// wrong if another program wrote entities, or if entities were stored before the type had the sum.
    ///
    /// Reads the canonical rows of the partition, and the rows of the totals before and after. Counts again
    /// when a total changed meanwhile, at most 5 times. A total that changed during each count is returned as
    /// [`Pending`](SumProblem::Pending); the others are judged.
    ///
    /// Also compares the copies of sums [over partitions](crate::Sum::over_partitions) with their totals: a read for
    /// each row of a total.
    ///
    /// ```
    /// # use table_orm::{Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// # struct Order { customer: String, number: u32, cents: i64 }
    /// # impl Order {
    /// #     const SUMS: &'static [Sum<Self>] = &[Sum::of("cents", |order| order.cents)];
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// orders.insert(&Order { customer: "acme".into(), number: 1, cents: 900 }).await?;
    /// assert_eq!(orders.verify_sums(Order::partition("acme")).await?, []);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a request fails, or a canonical row cannot be read.
    pub async fn verify_sums<Q>(&self, partition: Q) -> Result<Vec<WrongSum>>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        self.count_again(&CanonicalKey::of(partition.into_keys()?).partition_key, false).await
    }

    /// Counts the sums of the type again in a partition, and corrects the totals that are wrong. Returns
    /// those. Run it for a partition that had entities before the type had the sum.
    ///
    /// It brings the copies of sums [over partitions](crate::Sum::over_partitions) in step, too. So it also makes the copies
    /// of a sum that had none.
    ///
    /// A total is corrected by one write of its first row. It is counted again where another writer changed that
    /// row since the count, or the total during the count. After
    /// [`CONFLICT_RETRY_TIME`](crate::repo::CONFLICT_RETRY_TIME) it is returned as
    /// [`Pending`](SumProblem::Pending).
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// # struct Order { customer: String, number: u32, cents: i64 }
    /// # impl Order {
    /// #     const CENTS: Sum<Self> = Sum::of("cents", |order| order.cents);
    /// #     const SUMS: &'static [Sum<Self>] = &[Self::CENTS];
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let orders = tables.repo::<Order>();
    /// # orders.create_table().await?;
    /// # let rows = tables.table(orders.table().clone());
    /// // Another program inserts an order.
    /// let row = DynamicEntity::new("acme", "00001").with("Customer", "acme");
    /// rows.insert(&row.with("Number", 1_i64).with("Cents", 900_i64)).await?;
    /// let acme = Order::partition("acme");
    /// let wrong = orders.repair_sums(&acme).await?;
    /// assert_eq!((wrong[0].stored, wrong[0].counted), (0, 900));
    /// assert_eq!(orders.sum(&acme, &Order::CENTS).await?, 900);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`verify_sums`](Self::verify_sums). Totals that were corrected before the error stay so.
    pub async fn repair_sums<Q>(&self, partition: Q) -> Result<Vec<WrongSum>>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        self.count_again(&CanonicalKey::of(partition.into_keys()?).partition_key, true).await
    }

    pub(in crate::repo) async fn count_again(
        &self,
        partition_key: &str,
        repairs: bool,
    ) -> Result<Vec<WrongSum>> {
        let Some(summed) = SummedType::of::<E>() else { return Ok(Vec::new()) };
        let attempts = if repairs { None } else { Some(MAX_COUNTS) };
        let limits = RetryLimits { attempts, ..RetryLimits::default() };
        let mut attempts = Attempts::begin(&self.client.connection, limits);
        let (mut judged, mut wrong, none) = (BTreeSet::new(), Vec::new(), StoredTotal::default());
        loop {
            let before = self.totals(partition_key, &E::sums()).await?;
            let counted = self.counted(partition_key, summed).await?;
            let stored = self.totals(partition_key, &E::sums()).await?;
            let all = before.keys().chain(stored.keys()).chain(counted.keys()).cloned();
            let all: BTreeSet<Total> = all.filter(|total| !judged.contains(total)).collect();
            let mut pending = Vec::new();
            for total in all {
                let found = difference(&total, &stored, &counted);
                if before.get(&total) != stored.get(&total) {
                    pending.push(WrongSum { problem: SumProblem::Pending, ..found });
                    continue;
                }
                if found.stored != found.counted {
                    let rows = stored.get(&total).unwrap_or(&none);
                    let lacking = found.counted - found.stored;
                    if repairs && !self.correct(partition_key, &total, lacking, rows).await? {
                        pending.push(WrongSum { problem: SumProblem::Pending, ..found });
                        continue;
                    }
                    wrong.push(found);
                }
                judged.insert(total);
            }
            if pending.is_empty() || !attempts.next().await {
                wrong.extend(pending);
                wrong.extend(self.compare_copies(partition_key, repairs).await?);
                return Ok(wrong);
            }
        }
    }

    /// Corrects a total by what it lacks, in one of its rows: what other writers add to its other rows meanwhile is
    /// right. `false` where that row is not as it was read.
    async fn correct(
        &self,
        partition_key: &str,
        total: &Total,
        lacking: i128,
        stored: &StoredTotal,
    ) -> Result<bool> {
        let key =
            CanonicalKey { partition_key: partition_key.to_owned(), row_key: total.row_key(0)? };
        let (value, etag) = match stored.rows.get(&key.row_key) {
            Some((value, etag)) => (*value, Some(etag.clone())),
            None => (0, None),
        };
        let value = to_i64(partition_key, key.row_key.clone(), i128::from(value) + lacking)?;
        let mut intents = Intents::default();
        intents.add_totals::<E>(&self.client, partition_key, [&key.row_key])?;
        let operations = vec![total_row(&key, value, etag)?];
        let batch = Batch { partition_key: partition_key.to_owned(), operations };
        let settling = Settling::default();
        match intents.send(&self.client, batch, None, &settling).await {
            Ok(etags) => {
                intents.settle(&self.client, &etags, &settling).await;
                Ok(true)
            }
            Err(Error::Conflict(_) | Error::AlreadyExists(_) | Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The sums over the stored entities.
    async fn counted(&self, partition_key: &str, summed: SummedType) -> Result<Contributions> {
        let mut counted = Contributions::new();
        let mut pages = pages(&self.client, partition_key, canonical_rows::<E>(), E::METADATA);
        while let Some(body) = pages.next().await? {
            for row in split_page(&body)? {
                let row = row.get().as_bytes();
                for (total, value) in summed.contributions(row)? {
                    *counted.entry(total).or_default() += value;
                }
            }
        }
        Ok(counted)
    }
}

/// What is stored and what was counted of a total.
fn difference(total: &Total, stored: &StoredTotals, counted: &Contributions) -> WrongSum {
    WrongSum {
        name: total.name,
        group: total.group.clone(),
        stored: stored.get(total).map_or(0, |stored| stored.total),
        counted: counted.get(total).copied().unwrap_or_default(),
        problem: SumProblem::Differs,
    }
}
