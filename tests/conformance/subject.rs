//! A store under test, with a table of its own.

use bytes::Bytes;
use serde_json::{Map, Value};
use std::sync::Arc;
use table_orm::model::Metadata;
use table_orm::query::{KeyRange, RowQuery, Span};
use table_orm::repo::Table;
use table_orm::store::{Action, Batch, IfMatch, Operation, Page, Store, StoreError, StoredRow};
use table_orm::{ETag, TableName, Tables};

#[derive(Debug, Clone)]
pub struct Subject {
    pub store: Arc<dyn Store>,
    pub table: TableName,
}

/// A table name that no other test has.
pub fn fresh_name() -> TableName {
    TableName::new(&format!("T{}", uuid::Uuid::new_v4().simple())).unwrap()
}

pub fn json(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

impl Subject {
    /// The store with a new table.
    pub async fn new(store: impl Store + 'static) -> Self {
        let table = fresh_name();
        store.create_table(&table).await.unwrap();
        Self { store: Arc::new(store), table }
    }

    pub fn tables(&self) -> Tables {
        Tables::new(Arc::clone(&self.store))
    }

    /// The untyped calls on the table.
    pub fn dynamic(&self) -> Table {
        self.tables().table(self.table.clone())
    }

    pub async fn write(
        &self,
        partition_key: &str,
        row_key: &str,
        action: Action,
    ) -> Result<Option<ETag>, StoreError> {
        let operation = Operation { row_key: row_key.to_owned(), action };
        self.store.write(&self.table, partition_key, operation).await
    }

    pub async fn insert(&self, partition_key: &str, row_key: &str, properties: &str) -> ETag {
        let action = Action::Insert(row(partition_key, row_key, properties));
        self.write(partition_key, row_key, action).await.unwrap().unwrap()
    }

    pub async fn get(&self, partition_key: &str, row_key: &str) -> Option<StoredRow> {
        let row = self.store.get(&self.table, partition_key, row_key, None, Metadata::None).await;
        row.unwrap()
    }

    /// A row's own properties, without annotations.
    pub async fn properties(&self, partition_key: &str, row_key: &str) -> Option<Value> {
        let row = self.get(partition_key, row_key).await?;
        let mut members: Map<String, Value> = serde_json::from_slice(&row.body).unwrap();
        members.retain(|name, _| {
            !name.contains('.') && !matches!(&**name, "PartitionKey" | "RowKey" | "Timestamp")
        });
        Some(Value::Object(members))
    }

    pub async fn commit(
        &self,
        partition_key: &str,
        operations: Vec<Operation>,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let transaction = Batch { partition_key: partition_key.to_owned(), operations };
        self.store.commit(&self.table, transaction).await
    }

    pub fn query(&self, partition: Span, row: Span) -> RowQuery {
        RowQuery::new(self.table.clone(), KeyRange { partition, row })
    }

    /// All rows of a query, page after page.
    pub async fn rows(&self, mut query: RowQuery) -> Vec<Map<String, Value>> {
        let mut rows = Vec::new();
        loop {
            let page = self.store.query(&query).await.unwrap();
            rows.extend(page_rows(&page));
            if page.continuation.is_none() {
                return rows;
            }
            query.continuation = page.continuation;
        }
    }

    /// The keys of all rows of a query.
    pub async fn keys(&self, query: RowQuery) -> Vec<(String, String)> {
        let text = |row: &Map<String, Value>, name: &str| row[name].as_str().unwrap().to_owned();
        let rows = self.rows(query).await;
        rows.iter().map(|row| (text(row, "PartitionKey"), text(row, "RowKey"))).collect()
    }
}

pub fn page_rows(page: &Page) -> Vec<Map<String, Value>> {
    let body: Value = serde_json::from_slice(&page.body).unwrap();
    let rows = body["value"].as_array().unwrap().iter();
    rows.map(|row| row.as_object().unwrap().clone()).collect()
}

/// A row's body: its keys, and properties such as `"A":1`.
pub fn row(partition_key: &str, row_key: &str, properties: &str) -> Bytes {
    let (partition_key, row_key) = (Value::from(partition_key), Value::from(row_key));
    let comma = if properties.is_empty() { "" } else { "," };
    let body =
        format!(r#"{{"PartitionKey":{partition_key},"RowKey":{row_key}{comma}{properties}}}"#);
    json(&body)
}

pub fn insert(partition_key: &str, row_key: &str, properties: &str) -> Operation {
    let action = Action::Insert(row(partition_key, row_key, properties));
    Operation { row_key: row_key.to_owned(), action }
}

pub fn delete(row_key: &str) -> Operation {
    Operation { row_key: row_key.to_owned(), action: Action::Delete(IfMatch::Any) }
}
