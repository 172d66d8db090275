//! The pages of a query, one after the other.

use super::table_client::TableClient;
use crate::error::Result;
use crate::query::RowQuery;
use bytes::Bytes;

/// The pages of a query that are still to be read.
pub(crate) struct QueryPages<'c> {
    client: &'c TableClient,
    /// The next request; `None` at the end.
    query: Option<RowQuery>,
}

impl TableClient {
    /// The pages of a query, from where it starts.
    pub fn pages(&self, query: RowQuery) -> QueryPages<'_> {
        QueryPages { client: self, query: Some(query) }
    }
}

impl QueryPages<'_> {
    /// Whether there may be another page.
    pub const fn continues(&self) -> bool {
        self.query.is_some()
    }

    /// Reads the next page: the rows as the store sends them. `None` after the last page.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let Some(mut query) = self.query.take() else { return Ok(None) };
        let page = self.client.page(&query).await?;
        query.continuation = page.continuation;
        self.query = query.continuation.is_some().then_some(query);
        Ok(Some(page.body))
    }
}
