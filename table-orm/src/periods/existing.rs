//! The tables of a type that exist.

use super::{Bucketed, Period, Periods};
use crate::error::{Result, rejected};
use crate::model::TableName;

impl<E: Bucketed> Periods<E> {
    /// The periods that have a table, oldest first. One request for each 1000 tables of the account.
    ///
    /// # Errors
    /// When the store cannot be reached or read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # use table_orm::model::DateTime;
    /// # #[derive(Debug, TableEntity)]
    /// # #[table(name = "visits", partition = "{page}", row = "{at}", bucket(day, at))]
    /// # struct Visit { page: String, at: DateTime }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let visits = Tables::in_memory()?.periods::<Visit>();
    /// let at = "2026-11-23T18:30:00.0000000Z".parse()?;
    /// visits.insert(&Visit { page: "home".into(), at }).await?;
    /// let days = visits.existing().await?;
    /// assert_eq!(days[0].to_string(), "20261123");
    /// // A period takes the place of an instant.
    /// assert_eq!(visits.at(days[0]).list(Visit::partition("home")).count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn existing(&self) -> Result<Vec<Period>> {
        Ok(self.tables().await?.into_iter().map(|(period, _)| period).collect())
    }

    /// The periods that have a table, oldest first, each with the name as it is spelled.
    pub(super) async fn tables(&self) -> Result<Vec<(Period, TableName)>> {
        let names = self.connection.store.list_tables().await;
        let names = names.map_err(|cause| rejected("", cause))?;
        let bucket = Self::BUCKETING.bucket();
        let of = |name| Some((Period::of_table(bucket, &self.base, &name)?, name));
        let mut tables: Vec<_> = names.into_iter().filter_map(of).collect();
        tables.sort();
        Ok(tables)
    }

    /// The names of the blobs of tables of such periods.
    pub(super) async fn blobs(
        &self,
        is_one: impl Fn(Period) -> bool + Send,
    ) -> Result<Vec<String>> {
        let bucket = Self::BUCKETING.bucket();
        let is_of_one = move |name: &str| {
            let table = name.split('.').next().and_then(|table| TableName::new(table).ok());
            let period = table.and_then(|table| Period::of_table(bucket, &self.base, &table));
            period.is_some_and(&is_one)
        };
        let start = self.base.as_str().to_ascii_lowercase();
        Ok(self.connection.blob_names(start, is_of_one).await?)
    }
}
