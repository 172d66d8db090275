//! Queries of untyped rows.

use super::get::reading;
use super::listing::{Listing, last_methods};
use super::pages::{PageReader, Pages};
use crate::entity::{DynamicEntity, ReadRow as _, RowHead};
use crate::error::Result;
use crate::model::SYSTEM_PROPERTIES;
use crate::property::PropertyError;
use crate::query::Filter;
use std::borrow::Cow;

/// A query of untyped rows. One of the last methods sends it.
#[must_use = "nothing is sent until `stream`, `pages`, `collect` or another last method"]
#[derive(Debug, Clone)]
pub struct DynamicList {
    pub(super) listing: Listing,
}

impl DynamicList {
    /// Keeps the rows that meet a condition. Two filters must both hold.
    pub fn filter(self, filter: Filter) -> Self {
        Self { listing: self.listing.filter(Ok(filter)) }
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

    /// Leaves out rows that cannot be read, such as one whose value is not of the type that it
    /// states, as [`List::skip_unreadable`](super::List::skip_unreadable) does.
    pub fn skip_unreadable(self, on_skip: impl Fn(&PropertyError) + Send + Sync + 'static) -> Self {
        Self { listing: self.listing.skip_unreadable(on_skip) }
    }

    /// Reads at most `rows` rows in all.
    pub fn take(self, rows: usize) -> Self {
        Self { listing: self.listing.take(rows) }
    }

    /// Returns whether there is any row: reads one, without its properties.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub async fn exists(self) -> Result<bool> {
        Ok(self.take(1).count().await? > 0)
    }

    /// Returns the number of rows: reads all of them, without their properties.
    ///
    /// # Errors
    /// When the store refuses a request.
    pub async fn count(mut self) -> Result<usize> {
        self.listing.query = self.listing.query.map(reading::<RowHead>);
        self.listing.pages(PageReader::<RowHead>::each(0), None).count().await
    }

    fn ask(self, size: Option<usize>) -> Pages<DynamicEntity> {
        self.listing.pages(PageReader::each(0), size)
    }

    last_methods! { DynamicEntity, DynamicEntity::NAME, "rows" where [] [] }
}
