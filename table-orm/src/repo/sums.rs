//! Totals over the entities of a partition, as they are stored.

use crate::entity::{
    ReadRow, RowOf, Sum, TableEntity, Total, TotalRow, WholePartition, read_row_in_context,
    split_page,
};
use crate::error::{Result, SumError};
use crate::model::{ETag, Metadata};
use crate::plan::{CanonicalKey, QueryPages, TableClient};
use crate::query::{KeyRange, RowQuery, Span};
use crate::repo::Repo;
use std::collections::BTreeMap;

/// The rows of one total.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StoredTotal {
    pub(super) total: i128,
    /// What each row holds, and its version, by its RowKey.
    pub(super) rows: BTreeMap<String, (i64, ETag)>,
}

pub(super) type StoredTotals = BTreeMap<Total, StoredTotal>;

impl<E: TableEntity> Repo<E> {
    /// Returns the total of a sum in a partition: one query of the rows that hold it. For a sum by group, it
    /// adds up all groups; above 1,000 rows, later pages may be newer.
    ///
    /// ```
    /// # use table_orm::{Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// # struct Order { customer: String, number: u32, cents: i64 }
    /// # impl Order {
    /// #     const CENTS: Sum<Self> = Sum::of("cents", |order: &Self| order.cents).shards(8);
    /// #     const SUMS: &'static [Sum<Self>] = &[Self::CENTS];
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// let order = Order { customer: "acme".into(), number: 1, cents: 900 };
    /// orders.insert(&order).await?;
    /// let acme = Order::partition("acme");
    /// orders.update(acme.row().number(1), |order| order.cents -= 100).await?;
    /// assert_eq!(orders.sum(&acme, &Order::CENTS).await?, 800);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SumError::Undeclared`](crate::repo::SumError) for a sum that is not one of the type's `sums`, and
    /// [`SumError::Overflow`](crate::repo::SumError) when the total of all rows does not fit `i64`.
    /// [`Error::Unauthorized`](crate::Error::Unauthorized) under a signature with a range of RowKeys, which may hide rows
    /// of the total.
    pub async fn sum<Q>(&self, partition: Q, sum: &Sum<E>) -> Result<i64>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        let sum = declared(sum)?;
        let partition_key = CanonicalKey::of(partition.into_keys()?).partition_key;
        let totals = self.totals(&partition_key, &[sum]).await?;
        let total = totals.values().map(|stored| stored.total).sum();
        Ok(to_i64(&partition_key, sum.start(), total)?)
    }

    /// Returns the totals of a sum by group in a partition. Groups without entities have 0, or are absent.
    ///
    /// ```
    /// # use table_orm::{Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{customer}", row = "{number:05}", sums = Order::SUMS)]
    /// # struct Order { customer: String, number: u32, state: String }
    /// # impl Order {
    /// #     const SUMS: &'static [Sum<Self>] = &[Self::BY_STATE];
    /// const BY_STATE: Sum<Order> = Sum::by_group("state", |order| (order.state.clone(), 1));
    /// # }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// for (number, state) in [(1, "open"), (2, "paid"), (3, "open")] {
    ///     orders.insert(&Order { customer: "acme".into(), number, state: state.into() }).await?;
    /// }
    /// let states = orders.sum_by_group(Order::partition("acme"), &Order::BY_STATE).await?;
    /// assert_eq!((states["open"], states["paid"]), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub async fn sum_by_group<Q>(&self, partition: Q, sum: &Sum<E>) -> Result<BTreeMap<String, i64>>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        let sum = declared(sum)?;
        let partition_key = CanonicalKey::of(partition.into_keys()?).partition_key;
        let totals = self.totals(&partition_key, &[sum]).await?;
        let group = |(total, stored): (Total, StoredTotal)| {
            Ok((
                total.group.unwrap_or_default(),
                to_i64(&partition_key, sum.start(), stored.total)?,
            ))
        };
        totals.into_iter().map(group).collect()
    }

    /// The stored totals of these sums.
    pub(super) async fn totals(
        &self,
        partition_key: &str,
        sums: &[Sum<E>],
    ) -> Result<StoredTotals> {
        self.client.requires_all_rows(partition_key)?;
        let mut totals = StoredTotals::new();
        for sum in sums {
            let rows = Span::prefix(sum.start());
            let mut pages = pages(&self.client, partition_key, rows, TotalRow::METADATA);
            while let Some(body) = pages.next().await? {
                for row in split_page(&body)? {
                    let (TotalRow(value), context) =
                        read_row_in_context::<TotalRow>(0, row.get().as_bytes(), None)?;
                    let Some(total) = sum.total_of(&context.row_key) else { continue };
                    let stored = totals.entry(total).or_default();
                    stored.total += i128::from(value);
                    let row_key = context.row_key.clone().into_owned();
                    stored.rows.insert(row_key, (value, context.etag()));
                }
            }
        }
        Ok(totals)
    }
}

/// The sum as the type declares it.
pub(super) fn declared<E: TableEntity>(sum: &Sum<E>) -> Result<Sum<E>, SumError> {
    let mut sums = E::sums().into_iter();
    let declared = sums.find(|declared| declared.name() == sum.name());
    declared.ok_or(SumError::Undeclared { name: sum.name(), entity: E::NAME })
}

/// A total that a property can hold.
pub(super) fn to_i64(partition_key: &str, row_key: String, total: i128) -> Result<i64, SumError> {
    let partition_key = partition_key.to_owned();
    i64::try_from(total).map_err(|_| SumError::Overflow { partition_key, row_key })
}

/// The pages of the rows with these keys in a partition.
pub(super) fn pages<'c>(
    client: &'c TableClient,
    partition_key: &str,
    row: Span,
    metadata: Metadata,
) -> QueryPages<'c> {
    let partition = Span::Exact(partition_key.to_owned());
    let query = client.query(KeyRange { partition, row });
    client.pages(RowQuery { metadata, ..query })
}
