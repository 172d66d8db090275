//! The rows that the mover reads, page by page.

use super::super::Answer;
use super::fence::is_reserved;
use crate::entity::{DynamicEntity, ReadRow, RowHead, read_row, split_page};
use crate::query::RowQuery;
use crate::store::{ErrorCode, Store, StoreError};

/// What has a RowKey.
pub(super) trait Keyed: ReadRow {
    fn row_key(&self) -> &str;
}

impl Keyed for DynamicEntity {
    fn row_key(&self) -> &str {
        &self.row_key
    }
}

impl Keyed for RowHead {
    fn row_key(&self) -> &str {
        &self.row_key
    }
}

/// The pages of a query, without the rows of the protocol. A table that is not there has none.
pub(super) struct Pages<'s> {
    store: &'s dyn Store,
    query: Option<RowQuery>,
}

impl<'s> Pages<'s> {
    pub const fn new(store: &'s dyn Store, query: RowQuery) -> Self {
        Self { store, query: Some(query) }
    }

    /// The rows of the next page; `None` at the end.
    pub async fn next<T: Keyed>(&mut self) -> Answer<Option<Vec<T>>> {
        let Some(query) = self.query.take() else { return Ok(None) };
        let page = match self.store.query(&query).await {
            Err(error) if error.code == ErrorCode::TABLE_NOT_FOUND => return Ok(None),
            page => page?,
        };
        let rows = split_page(&page.body).map_err(|error| unreadable(&query).caused_by(error))?;
        let rows = rows.into_iter().map(|row| read_row::<T>(0, row.get().as_bytes()));
        let rows = rows.collect::<Result<Vec<_>, _>>();
        let mut rows = rows.map_err(|error| unreadable(&query).caused_by(error))?;
        rows.retain(|row| !is_reserved(row.row_key()));
        let continuation = page.continuation;
        self.query = continuation.map(|next| RowQuery { continuation: Some(next), ..query });
        Ok(Some(rows))
    }
}

fn unreadable(query: &RowQuery) -> StoreError {
    let message = format!(
        "A row of table `{}` cannot be read, so its partition stays where it is.",
        query.table
    );
    StoreError::new(ErrorCode::INVALID_INPUT, message)
}
