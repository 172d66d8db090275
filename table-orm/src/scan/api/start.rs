//! The calls that start a scan: on a typed repository or on an untyped table.

use super::scan::Scan;
use crate::entity::{DynamicEntity, OwnRows, RawRow, ReadRow, TableEntity, canonical_rows};
use crate::model::TableName;
use crate::plan::TableClient;
use crate::query::{ScanPermit, Span};
use crate::repo::{Repo, Table, sent_by_last_method};
use crate::store::Store;
use std::sync::Arc;

impl<E: TableEntity> Repo<E> {
    /// Reads every entity of the table by its canonical row, with many workers and in no particular
    /// order.
    ///
    /// The service reads, and bills, every row of the table. The permit records why.
    ///
    /// ```
    /// # use table_orm::{ScanPermit, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # for sensor in ["roof", "cellar"] {
    /// #     readings.insert(&Reading { sensor: sensor.into(), minute: 1, celsius: 20.0 }).await?;
    /// # }
    /// let scan = readings.scan(ScanPermit::because("monthly report"));
    /// let warm = scan.filter(|row| row.celsius.gt(15.0)).collect().await?;
    /// assert_eq!(warm.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self, permit: ScanPermit) -> Scan<E, E::Canonical> {
        let TableClient { connection, table, .. } = &self.client;
        let scan = Scan::typed(Arc::clone(&connection.store), table.clone(), &permit);
        scan.may_be_old().alive(&self.client)
    }
}

impl Table {
    /// Reads every row of the table, of any type, with many workers and in no order. The service
    /// bills every row.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// songs.insert(&DynamicEntity::new("Blue", "01")).await?;
    /// songs.insert(&DynamicEntity::new("Hejira", "01")).await?;
    /// let report = songs.scan(ScanPermit::because("backup")).count().await?;
    /// assert_eq!(report.rows, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self, permit: ScanPermit) -> Scan<DynamicEntity> {
        let TableClient { connection, table, .. } = &self.client;
        Scan::untyped(Arc::clone(&connection.store), table.clone(), &permit).may_be_old()
    }
}

sent_by_last_method!(Scan<T, R>);

impl<E: TableEntity> Scan<E, E::Canonical> {
    pub(crate) fn typed(store: Arc<dyn Store>, table: TableName, permit: &ScanPermit) -> Self {
        let rows = (E::NAME, OwnRows::canonical::<E>());
        Self::with(store, table, rows, canonical_rows::<E>(), permit)
    }
}

impl Scan<DynamicEntity> {
    /// Reads the rows as text, to pass them on: faster, and without a look at their values.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let (name, other) = (TableName::new("songs")?, TableName::new("copy")?);
    /// # tables.create(&name).await?;
    /// # tables.create(&other).await?;
    /// # let (songs, copy) = (tables.table(name), tables.table(other));
    /// let row = DynamicEntity::new("Blue", "01").with("Seconds", 213_i64);
    /// songs.insert(&row).await?;
    /// let scan = songs.scan(ScanPermit::because("a copy")).raw();
    /// let page = |page: table_orm::scan::ScanPage<_>| {
    ///     let writes = copy.insert_or_replace_raw(page.rows);
    ///     async { writes.await.all().map(drop) }
    /// };
    /// scan.on_page(page).await?;
    /// let copied = copy.get("Blue", "01").await?;
    /// assert_eq!(copied.map(|row| row.properties), Some(row.properties));
    /// # Ok(())
    /// # }
    /// ```
    pub fn raw(self) -> Scan<RawRow> {
        self.cast()
    }

    pub(crate) fn untyped(store: Arc<dyn Store>, table: TableName, permit: &ScanPermit) -> Self {
        Self::untyped_in(store, table, Span::All, permit)
    }

    /// A scan of those RowKeys.
    pub(crate) fn untyped_in(
        store: Arc<dyn Store>,
        table: TableName,
        rows: Span,
        permit: &ScanPermit,
    ) -> Self {
        Self::with(store, table, (DynamicEntity::NAME, OwnRows::ANY), rows, permit)
    }
}
