//! Queries of untyped rows.

use super::get::reading;
use super::listing::{Listing, last_methods};
use super::pages::{PageReader, Pages};
use crate::entity::{DynamicEntity, InvalidEntity, OwnRows, ReadRow as _, RowHead};
use crate::error::Result;
use crate::model::SYSTEM_PROPERTIES;
use crate::property::PropertyError;
use crate::query::{Condition, Filter};
use std::borrow::Cow;

/// A query of untyped rows. One of the last methods sends it.
///
/// ```
/// # use table_orm::{DynamicEntity, TableName, Tables};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let tables = Tables::in_memory()?;
/// # let name = TableName::new("songs")?;
/// # tables.create(&name).await?;
/// # let songs = tables.table(name);
/// for (key, seconds) in [("01", 213), ("02", 182)] {
///     songs.insert(&DynamicEntity::new("Blue", key).with("Seconds", seconds)).await?;
/// }
/// let blue = songs.list("Blue", ..).select(["Seconds"]).take(1);
/// assert!(blue.plan()?.to_string().contains("PartitionKey,RowKey,Timestamp,Seconds"));
/// assert_eq!(blue.one().await?.row_key, "01");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug, Clone)]
pub struct DynamicList {
    pub(super) listing: Listing,
}

impl DynamicList {
    /// Keeps the rows that meet a condition. A second filter must hold as well.
    ///
    /// ```
    /// # use table_orm::{DynamicEntity, TableName, Tables};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tables = Tables::in_memory()?;
    /// # let name = TableName::new("songs")?;
    /// # tables.create(&name).await?;
    /// # let songs = tables.table(name);
    /// use table_orm::query::{Comparison, Filter};
    /// for (key, seconds) in [("01", 213), ("02", 182)] {
    ///     songs.insert(&DynamicEntity::new("Blue", key).with("Seconds", seconds)).await?;
    /// }
    /// let long = Filter::compare("Seconds", Comparison::Greater, 200);
    /// assert_eq!(songs.list("Blue", ..).filter(long).one().await?.row_key, "01");
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(self, filter: Filter) -> Self {
        let entity = self.listing.client.context.entity;
        let filter = Condition::from(filter).of(entity).map_err(InvalidEntity::from);
        Self { listing: self.listing.filter(filter) }
    }

    /// Reads only these properties, beside the keys and the timestamp.
    pub fn select<N: Into<Cow<'static, str>>>(
        mut self,
        properties: impl IntoIterator<Item = N>,
    ) -> Self {
        let system = SYSTEM_PROPERTIES.map(Cow::Borrowed);
        let select = system.into_iter().chain(properties.into_iter().map(Into::into)).collect();
        if let Ok(query) = &mut self.listing.query {
            query.select = Some(select);
        }
        self
    }

    /// Leaves out rows that cannot be read, as [`List::skip_unreadable`](super::List::skip_unreadable) does.
    /// An example is a row whose value does not match the type that it states.
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self { listing: self.listing.skip_unreadable(on_skip) }
    }

    /// Reads at most `rows` rows in all.
    pub fn take(self, rows: usize) -> Self {
        Self { listing: self.listing.take(rows) }
    }

    /// Returns whether the query matches a row: reads one row, without its properties.
    ///
    /// # Errors
    /// When the store rejects the request.
    pub async fn exists(self) -> Result<bool> {
        Ok(self.take(1).count().await? > 0)
    }

    /// Returns the number of rows. Reads all of them without their properties, 1000 a request.
    ///
    /// # Errors
    /// When the store rejects a request.
    pub async fn count(mut self) -> Result<usize> {
        let own = OwnRows::ANY;
        self.listing.query = self.listing.query.map(|query| reading::<RowHead>(query, &own));
        self.listing.pages(PageReader::<RowHead>::each(own), None).count().await
    }

    fn ask(self, size: Option<usize>) -> Pages<DynamicEntity> {
        self.listing.pages(PageReader::each(OwnRows::ANY), size)
    }

    last_methods! { DynamicEntity, DynamicEntity::NAME, "rows" where [] [] }
}
