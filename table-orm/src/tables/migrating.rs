//! Entities whose stored keys change.

use super::Tables;
use crate::entity::{Bucketed, TableEntity as _};
use crate::error::Result;
use crate::migrate::{Migrates, Migrating};
use crate::model::TableName;
use crate::periods::MigratingPeriods;

impl Tables {
    /// Returns the calls on a type whose stored keys change: one with `#[table(migrate_from = Old)]`. It finds each entity
    /// in either form.
    ///
    /// ```
    /// use table_orm::{ScanPermit, TableEntity, Tables};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "orders", partition = "{shop}", row = "ORD:{n:08}")]
    /// struct OrderV1 { shop: String, n: u32, cents: i64 }
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "orders2", partition = "{shop}__{year}", row = "ORD:{n:08}", migrate_from = OrderV1)]
    /// struct Order { shop: String, year: u16, n: u32, cents: i64 }
    ///
    /// impl From<OrderV1> for Order {
    ///     fn from(old: OrderV1) -> Self {
    ///         Self { shop: old.shop, year: (2000 + old.n / 1000) as u16, n: old.n, cents: old.cents }
    ///     }
    /// }
    /// impl From<Order> for OrderV1 {
    ///     fn from(new: Order) -> Self {
    ///         Self { shop: new.shop, n: new.n, cents: new.cents }
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo::<OrderV1>();
    /// # old.create_table().await?;
    /// # old.insert(&OrderV1 { shop: "oslo".into(), n: 24_007, cents: 500 }).await?;
    /// let orders = tables.migrating::<Order>()?;
    /// orders.create_table_if_not_exists().await?;
    /// let key = Order::partition("oslo", 2024_u16).row().n(24_007_u32);
    /// // Stored in its old form.
    /// assert_eq!(orders.get(&key).await?.map(|order| order.cents), Some(500));
    /// let permit = ScanPermit::because("orders get a partition for each year");
    /// assert_eq!(orders.migrate(&permit).await.all()?, 1);
    /// assert!(orders.verify_migrated(&permit).await?.is_complete());
    /// assert_eq!(orders.get(&key).await?.map(|order| order.cents), Some(500));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// `repo` of such a type does not compile: it would not see the old form.
    ///
    /// ```compile_fail,E0080
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "ORD:{n:08}")]
    /// # struct OrderV1 { shop: String, n: u32 }
    /// # #[derive(Debug, Clone, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "NEW:{n:08}", migrate_from = OrderV1)]
    /// # struct Order { shop: String, n: u32 }
    /// # impl From<OrderV1> for Order { fn from(old: OrderV1) -> Self { Self { shop: old.shop, n: old.n } } }
    /// # impl From<Order> for OrderV1 { fn from(new: Order) -> Self { Self { shop: new.shop, n: new.n } } }
    /// # fn main() -> table_orm::Result<()> {
    /// let orders = Tables::in_memory()?.repo::<Order>();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`MigrationError::Sum`](crate::migrate::MigrationError::Sum) when a total of one of the two types cannot follow its
    /// entities.
    pub fn migrating<E: Migrates>(&self) -> Result<Migrating<E>> {
        const {
            assert!(
                E::BUCKET.is_none(),
                "the type has `bucket`, so it has tables for each period: use `tables.migrating_periods::<T>()`, and \
                 `.at(time)` of that for those of one period"
            );
        }
        self.migrating_in(TableName::checked(E::Old::TABLE), TableName::checked(E::TABLE))
    }

    /// Does the same as [`migrating`](Self::migrating) in tables of other names, as [`repo_in`](Self::repo_in) does: the
    /// table of the old rows, then that of the new ones. They are one table if the two types declare one.
    ///
    /// ```
    /// # use table_orm::{Error, ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots", partition = "{hall}", row = "L:{n:03}")]
    /// # struct LotV1 { hall: String, n: u32 }
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "lots2", partition = "{hall}", row = "LOT:{n:08}", migrate_from = LotV1)]
    /// # struct Lot { hall: String, n: u32 }
    /// # impl From<LotV1> for Lot { fn from(LotV1 { hall, n }: LotV1) -> Self { Self { hall, n } } }
    /// # impl From<Lot> for LotV1 { fn from(Lot { hall, n }: Lot) -> Self { Self { hall, n } } }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.repo_in::<LotV1>("stagingLots".parse()?);
    /// # old.create_table().await?;
    /// # old.insert(&LotV1 { hall: "a".into(), n: 1 }).await?;
    /// let lots = tables.migrating_in::<Lot>("stagingLots".parse()?, "stagingLots2".parse()?)?;
    /// lots.create_table_if_not_exists().await?;
    /// assert_eq!(lots.migrate(&ScanPermit::because("wider numbers")).await.all()?, 1);
    /// // The types have a table each.
    /// let one = tables.migrating_in::<Lot>("stagingLots".parse()?, "STAGINGLOTS".parse()?);
    /// assert!(matches!(one, Err(Error::Migration(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`migrating`](Self::migrating), and [`MigrationError::TableCount`](crate::migrate::MigrationError::TableCount) where
    /// the types declare two tables and the names are one, or the other way round.
    pub fn migrating_in<E: Migrates>(
        &self,
        old: TableName,
        new: TableName,
    ) -> Result<Migrating<E>> {
        Migrating::new(&self.connection, old, new)
    }

    /// Returns the tables of a type whose stored keys change and which has one for each period: one with `bucket` and
    /// `migrate_from`.
    ///
    /// ```
    /// use table_orm::{ScanPermit, TableEntity, Tables};
    /// use time::{Duration, OffsetDateTime};
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "readings", partition = "{sensor}", row = "AT:{at}", bucket(month, at))]
    /// struct ReadingV1 { sensor: String, at: OffsetDateTime, celsius: f64 }
    ///
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "readings", partition = "{sensor}", row = "NEW:{newest}", bucket(month, at), migrate_from = ReadingV1)]
    /// #[component(newest = desc(at))]
    /// struct Reading { sensor: String, at: OffsetDateTime, celsius: f64 }
    /// # impl From<ReadingV1> for Reading {
    /// #     fn from(ReadingV1 { sensor, at, celsius }: ReadingV1) -> Self { Self { sensor, at, celsius } }
    /// # }
    /// # impl From<Reading> for ReadingV1 {
    /// #     fn from(Reading { sensor, at, celsius }: Reading) -> Self { Self { sensor, at, celsius } }
    /// # }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # let old = tables.periods::<ReadingV1>();
    /// # let november = OffsetDateTime::from_unix_timestamp(1_794_000_000)?;
    /// # for days in [0, 1, 40] {
    /// #     let at = november + Duration::days(days);
    /// #     old.insert(&ReadingV1 { sensor: "roof".into(), at, celsius: 20.5 }).await?;
    /// # }
    /// let readings = tables.migrating_periods::<Reading>()?;
    /// let permit = ScanPermit::because("the newest reading first");
    /// for period in readings.existing().await? {
    ///     readings.at(period)?.migrate(&permit).await.all()?;
    /// }
    /// let all = readings.at(november)?.list(Reading::partition("roof")).await?;
    /// assert_eq!((all.len(), all[0].at > all[1].at), (2, true));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`migrating`](Self::migrating).
    pub fn migrating_periods<E: Migrates<Old: Bucketed> + Bucketed>(
        &self,
    ) -> Result<MigratingPeriods<E>> {
        MigratingPeriods::new(&self.connection)
    }
}
