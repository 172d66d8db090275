//! The promises of the embedded store, through the [`Store`] trait: those of both databases in
//! `in_memory`, `in_file` and `in_eventual_file`.

mod disk;
mod durability;
#[cfg(target_os = "linux")]
mod exhausted;
mod failures;
mod files;
mod groups;
mod in_eventual_file;
mod in_file;
mod in_memory;

use super::{EmbeddedStore, OpenError};
use crate::model::{ETag, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{
    Action, Batch, ErrorCode, IfMatch, Operation, Page, Store, StoreError, StoredRow,
};
use bytes::Bytes;
use serde_json::Value;

/// A store with one table.
struct Fixture {
    store: EmbeddedStore,
    table: TableName,
}

impl Fixture {
    async fn with(store: EmbeddedStore) -> Self {
        let table = TableName::new("People").unwrap();
        store.create_table(&table).await.unwrap();
        Self { store, table }
    }

    async fn write(
        &self,
        partition_key: &str,
        row_key: &str,
        action: Action,
    ) -> Result<Option<ETag>, StoreError> {
        let operation = Operation { row_key: row_key.to_owned(), action };
        self.store.write(&self.table, partition_key, operation).await
    }

    async fn insert(&self, partition_key: &str, row_key: &str, body: &str) -> ETag {
        self.write(partition_key, row_key, Action::Insert(json(body))).await.unwrap().unwrap()
    }

    async fn get(&self, partition_key: &str, row_key: &str) -> Option<StoredRow> {
        self.store.get(&self.table, partition_key, row_key, None, Metadata::None).await.unwrap()
    }

    /// A row's properties as JSON text, keys and Timestamp aside.
    async fn properties(&self, partition_key: &str, row_key: &str) -> Option<String> {
        let row = self.get(partition_key, row_key).await?;
        let text = std::str::from_utf8(&row.body).unwrap();
        let from = text.find("\"RowKey\"").unwrap();
        let start = text[from..].find(',').map_or(text.len() - 1, |at| from + at + 1);
        Some(format!("{{{}", &text[start..]))
    }

    async fn commit(&self, operations: Vec<Operation>) -> Result<Vec<Option<ETag>>, StoreError> {
        let transaction = Batch { partition_key: "p".into(), operations };
        self.store.commit(&self.table, transaction).await
    }

    fn query(&self, keys: KeyRange) -> RowQuery {
        RowQuery::new(self.table.clone(), keys)
    }

    /// Returns the keys of every row of a query, and the number of pages.
    async fn keys(&self, mut query: RowQuery) -> (Vec<(String, String)>, usize) {
        let mut keys = Vec::new();
        for pages in 1.. {
            let page = self.store.query(&query).await.unwrap();
            keys.extend(
                rows(&page).iter().map(|row| (key(row, "PartitionKey"), key(row, "RowKey"))),
            );
            query.continuation = page.continuation;
            if query.continuation.is_none() {
                return (keys, pages);
            }
        }
        unreachable!()
    }
}

fn json(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn operation(row_key: &str, action: Action) -> Operation {
    Operation { row_key: row_key.to_owned(), action }
}

fn insert(row_key: &str, body: &str) -> Operation {
    operation(row_key, Action::Insert(json(body)))
}

fn rows(page: &Page) -> Vec<Value> {
    let body: Value = serde_json::from_slice(&page.body).unwrap();
    body["value"].as_array().unwrap().clone()
}

fn key(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap().to_owned()
}

fn partition(key: &str) -> KeyRange {
    KeyRange { partition: Span::Exact(key.to_owned()), row: Span::All }
}

#[track_caller]
fn rejected<T: std::fmt::Debug>(result: Result<T, StoreError>, code: &ErrorCode) -> StoreError {
    let error = result.unwrap_err();
    assert_eq!(error.code, *code, "{error}");
    assert_eq!(Some(error.status), code.status());
    error
}
