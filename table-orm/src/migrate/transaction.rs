//! A transaction whose writes are known before it is sent.

use super::loaded::MigratingLoaded;
use super::migrates::Migrates;
use super::migrating::Migrating;
use super::together::{Change, Together, What};
use crate::entity::{RowOf, WholePartition};
use crate::error::Result;
#[cfg(doc)]
use crate::error::{Error, MigrationError, TransactionError};
use crate::key::KeyError;
use crate::plan::CanonicalKey;
use std::borrow::BorrowMut;
use std::fmt;

impl<E: Migrates> Migrating<E> {
    /// Starts a transaction: writes of several entities of one new partition, in either form.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32, cents: i64 }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32, cents: i64 }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n, cents }: LotV1) -> Self { Self { hall, n, cents } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n, cents }: Lot) -> Self { Self { hall, n, cents } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<LotV1>();
    /// # old.create_table().await?;
    /// # for n in [1, 2] { old.insert(&LotV1 { hall: "a".into(), n, cents: 500 }).await?; }
    /// # let lots = tables.migrating::<Lot>()?;
    /// # lots.create_table_if_not_exists().await?;
    /// let hall = Lot::partition("a");
    /// let mut one = lots.load(hall.row().n(1_u32)).await?.expect("it is stored");
    /// let two = lots.load(hall.row().n(2_u32)).await?.expect("it is stored");
    /// one.cents += two.cents;
    /// let three = Lot { hall: "a".into(), n: 3, cents: 0 };
    /// lots.transaction(&hall).save(&mut one).delete(two).insert(&three).commit().await?;
    /// let left: Vec<_> = lots.list(&hall).await?.iter().map(|lot| (lot.n, lot.cents)).collect();
    /// assert_eq!(left, [(1, 1000), (3, 0)]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction<'a, Q>(&self, partition: Q) -> MigratingTransaction<'a, E>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        MigratingTransaction {
            client: self.clone(),
            partition_key: partition_of(partition),
            changes: Vec::new(),
        }
    }
}

/// The key of a whole partition.
pub(super) fn partition_of<Q: WholePartition>(partition: Q) -> Result<String, KeyError> {
    partition.into_keys().map(|keys| CanonicalKey::of(keys).partition_key)
}

/// Writes of several entities of one new partition that take effect together or not at all.
///
/// An entity in its old form moves first, by itself and with the content that was loaded. Before an entity is
/// inserted, a marker is written under its old key. Then one transaction writes all entities under their new
/// keys.
///
/// A client that inserts the old form writes the old form in place, in one transaction, as long as it meets no entity
/// in its new form. The old rows must then be in one partition, too.
#[must_use = "nothing is sent until `commit`"]
pub struct MigratingTransaction<'a, E: Migrates> {
    client: Migrating<E>,
    partition_key: Result<String, KeyError>,
    changes: Vec<Change<'a, E>>,
}

impl<E: Migrates> fmt::Debug for MigratingTransaction<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigratingTransaction")
            .field("partition_key", &self.partition_key)
            .field("changes", &self.changes.len())
            .finish_non_exhaustive()
    }
}

impl<'a, E: Migrates> MigratingTransaction<'a, E> {
    /// Inserts an entity. It must not exist, in either form.
    pub fn insert(mut self, entity: &E) -> Self {
        self.changes.push(Change::Insert(Box::new(entity.clone())));
        self
    }

    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since. An entity behind `&mut` can be saved
    /// again after the commit.
    pub fn save(self, held: impl BorrowMut<MigratingLoaded<E>> + Send + Sync + 'a) -> Self {
        self.with(What::Save, held)
    }

    /// Deletes a loaded entity if nobody has written it since.
    pub fn delete(self, held: MigratingLoaded<E>) -> Self {
        self.with(What::Delete, held)
    }

    /// Requires that a loaded entity, or `&mut` of one, is unchanged. It gets a new version, as in
    /// [`Transaction::require`](crate::repo::Transaction::require), and an entity in its old form moves.
    pub fn require(self, held: impl BorrowMut<MigratingLoaded<E>> + Send + Sync + 'a) -> Self {
        self.with(What::Require, held)
    }

    fn with(
        mut self,
        what: What,
        held: impl BorrowMut<MigratingLoaded<E>> + Send + Sync + 'a,
    ) -> Self {
        self.changes.push(Change::Held(what, Box::new(held)));
        self
    }

    /// Sends it. One request for the transaction; before it, one for each entity to insert, and three for each entity
    /// in its old form, or one within a partition. One request in all for a client that writes the old form in place.
    ///
    /// # Errors
    /// - [`Error::Conflict`], [`Error::NotFound`] and [`Error::AlreadyExists`] when another client, or a mover, has
    ///   written one of the entities since. Load them again.
    /// - [`TransactionError::OtherPartition`] when an entity is of another new partition, and the other errors of a
    ///   transaction that breaks a rule.
    /// - [`MigrationError::OldPartitions`] when a client that inserts the old form would have to write rows of several
    ///   old partitions.
    /// - [`MigrationError::KeyChanged`] when a saved entity has another new key.
    /// - [`MigrationError::RowTaken`] when an entity waits for an index row that another entity has. Save it by itself.
    /// - [`MigrationError::Unprepared`] when the store does not answer a step before the transaction.
    ///
    /// None of the writes takes effect then; entities may have moved. After [`Error::Ambiguous`], and without a retry
    /// layer after [`Error::Unavailable`], all of them may have taken effect.
    pub async fn commit(self) -> Result<()> {
        let Self { client, partition_key, changes } = self;
        Together { client, partition_key: partition_key?, changes }.commit().await
    }
}
