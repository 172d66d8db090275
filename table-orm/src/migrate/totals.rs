//! Sums over entities whose keys change.
//!
//! Invariant: a total holds what the rows of its partition add. So it changes in the transaction that replaces an old
//! row, and in the one that inserts the new row. While an entity is on its way, no total has it.

use super::migrates::Migrates;
use super::migrating::Migrating;
use super::old_place::OldEntity;
use crate::entity::{Contributions, EntityRows, RowOf, Sum, WholePartition, differences};
use crate::error::{Error, Result};
use crate::plan::TableClient;
use std::borrow::Cow;
use std::collections::BTreeMap;

impl<E: Migrates> Migrating<E> {
    /// Returns the total of a sum over the new rows of a partition: one query. If both forms are in one table
    /// and partition, and their sums have one name, both share this total. Otherwise it counts only entities
    /// that have moved; a `Repo` of the old type has the totals of the others.
    ///
    /// ```
    /// # use table_orm::{Sum, TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "sales", partition = "{shop}", row = "S:{n:03}", sums = SaleV1::SUMS)]
    /// # struct SaleV1 { shop: String, n: u32, cents: i64 }
    /// # impl SaleV1 { const SUMS: [Sum<Self>; 1] = [Sum::of("cents", |sale| sale.cents)]; }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "sales", partition = "{shop}", row = "SALE:{n:08}", sums = Sale::SUMS, migrate_from = SaleV1)]
    /// # struct Sale { shop: String, n: u32, cents: i64 }
    /// # impl Sale { const SUMS: [Sum<Self>; 1] = [Self::CENTS]; }
    /// # impl Sale { const CENTS: Sum<Self> = Sum::of("cents", |sale| sale.cents); }
    /// # impl From<SaleV1> for Sale { fn from(SaleV1 { shop, n, cents }: SaleV1) -> Self { Self { shop, n, cents } } }
    /// # impl From<Sale> for SaleV1 { fn from(Sale { shop, n, cents }: Sale) -> Self { Self { shop, n, cents } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<SaleV1>();
    /// # old.create_table().await?;
    /// # old.insert(&SaleV1 { shop: "a".into(), n: 1, cents: 500 }).await?;
    /// let sales = tables.migrating::<Sale>()?;
    /// sales.insert(&Sale { shop: "a".into(), n: 2, cents: 100 }).await?;
    /// assert_eq!(sales.sum(Sale::partition("a"), &Sale::CENTS).await?, 600);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the total of all rows does not fit `i64`, or the store rejects the request.
    pub async fn sum<Q>(&self, partition: Q, sum: &Sum<E>) -> Result<i64>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        self.new.sum(partition, sum).await
    }

    /// Returns the totals of a sum by group over the new rows of a partition, as [`sum`](Self::sum) does.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub async fn sum_by_group<Q>(&self, partition: Q, sum: &Sum<E>) -> Result<BTreeMap<String, i64>>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        self.new.sum_by_group(partition, sum).await
    }

    /// The client for moves within a partition. It leaves the totals alone where none of the entities adds to them other
    /// than before.
    pub(super) fn within<'m>(
        &self,
        mut moves: impl Iterator<Item = (&'m OldEntity<E>, &'m EntityRows)>,
    ) -> Result<Cow<'_, TableClient>>
    where
        E: 'm,
    {
        let client = &self.new.client;
        let old_sums = &self.old.client.summed;
        if client.summed.is_empty() && old_sums.is_empty() {
            return Ok(Cow::Borrowed(client));
        }
        let types: Vec<_> = client.summed.iter().chain(old_sums).copied().collect();
        let adds_alike = |(old, rows): (&OldEntity<E>, &EntityRows)| -> Result<bool> {
            let before = contributions(&self.old.client, &old.old_rows)?;
            Ok(before == contributions(client, rows)?)
        };
        let is_alike = moves.try_fold(true, |all, one| Ok::<_, Error>(all && adds_alike(one)?))?;
        let summed = if is_alike { Vec::new() } else { types };
        Ok(Cow::Owned(TableClient { summed, ..client.clone() }))
    }
}

/// What the entity of these rows adds to the totals of its partition; nothing for 0.
fn contributions(client: &TableClient, rows: &EntityRows) -> Result<Contributions> {
    let row = rows.canonical().map(|row| &row.body);
    Ok(differences(client.summed.iter(), [None, row])?)
}
