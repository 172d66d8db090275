//! Rows of the other side of a verify, read by one query for each kind instead of a point query for each row.
//!
//! Invariant: they only confirm. A row that they do not confirm is read again by itself, so a verify finds
//! the same with and without them.

use super::versioned_row::VersionedRow;
use crate::entity::split_page;
use crate::error::{Error, Result};
use crate::model::{Metadata, TableName};
use crate::plan::TableClient;
use crate::query::{KeyRange, RowQuery, Span};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::collections::HashMap;

/// Rows by their keys.
#[derive(Debug, Default)]
pub(super) struct Joined(HashMap<(String, String), HashMap<String, Bytes>>);

impl Joined {
    /// Reads the rows of the queries: none of a table that does not exist.
    pub fn read<'f>(
        client: &'f TableClient,
        queries: Vec<RowQuery>,
    ) -> BoxFuture<'f, Result<Self>> {
        Box::pin(async move {
            let mut rows = Self::default();
            for query in queries {
                let table = key(&query.table);
                let mut pages = client.pages(query);
                loop {
                    let page = match pages.next().await {
                        Ok(Some(page)) => page,
                        Ok(None) | Err(Error::TableNotFound(_)) => break,
                        Err(error) => return Err(error),
                    };
                    for row in split_page(&page)? {
                        // Copied: a slice would keep the page.
                        let body = Bytes::copy_from_slice(row.get().as_bytes());
                        let VersionedRow { partition_key, row_key, .. } =
                            VersionedRow::read(&body)?;
                        let partition = rows.0.entry((table.clone(), partition_key)).or_default();
                        partition.insert(row_key, body);
                    }
                }
            }
            Ok(rows)
        })
    }

    /// Whether no row was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The JSON object of a row.
    pub fn row(&self, table: &TableName, partition_key: &str, row_key: &str) -> Option<&Bytes> {
        if self.is_empty() {
            return None;
        }
        self.0.get(&(key(table), partition_key.to_owned()))?.get(row_key)
    }
}

/// The query for these rows in all partitions of a table.
pub(super) fn query(table: TableName, row: Span) -> RowQuery {
    let query = RowQuery::new(table, KeyRange { partition: Span::All, row });
    RowQuery { metadata: Metadata::Minimal, ..query }
}

/// The names of tables have no case.
fn key(table: &TableName) -> String {
    table.as_str().to_ascii_lowercase()
}
