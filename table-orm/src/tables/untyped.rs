//! Untyped calls: the rows of a table, its scans, and its exports and imports.

use super::Tables;
use crate::entity::DynamicEntity;
use crate::model::TableName;
use crate::query::ScanPermit;
use crate::repo::Table;
use crate::scan::Scan;
use crate::transfer::{Export, Import};
use std::sync::Arc;

impl Tables {
    /// Returns the untyped rows of a table, for tools that do not know its entities.
    ///
    /// ```
    /// use table_orm::{DynamicEntity, Tables};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create(&"readings".parse()?).await?;
    /// let rows = tables.table("readings".parse()?);
    /// rows.insert(&DynamicEntity::new("roof", "00001").with("Celsius", 20.5)).await?;
    /// let row = rows.get("roof", "00001").await?.ok_or("no row")?;
    /// assert_eq!(row.properties["Celsius"], 20.5.into());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    #[must_use]
    pub fn table(&self, name: TableName) -> Table {
        Table::new(Arc::clone(&self.connection), name)
    }

    /// Reads every row of a table, of whatever type, with many workers. The service bills every
    /// row.
    ///
    /// ```
    /// use table_orm::{ScanPermit, Tables};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create(&"readings".parse()?).await?;
    /// let scan = tables.scan("readings".parse()?, ScanPermit::because("nightly export"));
    /// let rows = scan.collect().await?;
    /// # assert_eq!(rows, []);
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    /// # runtime.block_on(run()).unwrap();
    /// ```
    pub fn scan(&self, name: TableName, permit: ScanPermit) -> Scan<DynamicEntity> {
        self.table(name).scan(permit)
    }

    /// Exports every row of a table, of whatever type, as text with exact types. The service bills
    /// every row. [`Repo::export`](crate::Repo::export) does the same for the entities of one type.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, ScanPermit, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create(&"readings".parse()?).await?;
    /// let row = DynamicEntity::new("roof", "00001").with("Celsius", 20.5);
    /// tables.table("readings".parse()?).insert(&row).await?;
    /// let export = tables.export("readings".parse()?, ScanPermit::because("backup"));
    /// let mut text = Vec::new();
    /// export.write_to(&mut text).await?;
    ///
    /// tables.create(&"copy".parse()?).await?;
    /// tables.import("copy".parse()?).read_from(&*text).await?;
    /// let copy = tables.table("copy".parse()?).get("roof", "00001").await?;
    /// assert_eq!(copy.map(|row| row.properties), Some(row.properties));
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self, table: TableName, permit: ScanPermit) -> Export {
        Export::new(self.scan(table, permit))
    }

    /// Imports the rows of a text that [`export`](Self::export) wrote.
    ///
    /// These rows are written as they are. [`Repo::import`](crate::Repo::import) keeps the index rows of entities in step.
    ///
    /// ```
    /// # use table_orm::Tables;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let tables = Tables::in_memory()?;
    /// # tables.create(&"readings".parse()?).await?;
    /// let text = r#"{"PartitionKey":"roof","RowKey":"00001","Celsius":20.5}"#;
    /// let imported = tables.import("readings".parse()?).read_from(text.as_bytes()).await?;
    /// assert_eq!(imported.rows, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn import<'a>(&self, table: TableName) -> Import<'a, Table> {
        Import::new(self.table(table))
    }
}
