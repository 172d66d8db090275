//! Entities whose stored keys change.

use super::Tables;
use crate::error::Result;
use crate::migrate::{Migrates, Migrating};

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
        Migrating::new(&self.connection)
    }
}
