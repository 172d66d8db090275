//! A store whose clock is virtual: its rows have the time of their last write on it, and so have its answers.

use crate::model::{DateTime, ETag, TableName};
use crate::query::RowQuery;
use crate::store::{Batch, Middleware, Operation, Page, Store, StoreError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tokio::time::Instant;

type Key = (String, String, String);

#[derive(Debug)]
pub(crate) struct Stamped {
    inner: Arc<dyn Store>,
    start: (Instant, DateTime),
    written: Mutex<BTreeMap<Key, DateTime>>,
}

impl Stamped {
    pub fn new(inner: Arc<dyn Store>) -> Self {
        let start = (Instant::now(), "2026-11-23T00:00:00Z".parse().unwrap());
        Self { inner, start, written: Mutex::default() }
    }

    fn now(&self) -> DateTime {
        let (start, time) = self.start;
        let passed = i64::try_from(start.elapsed().as_nanos() / 100).unwrap();
        DateTime::from_ticks(time.ticks() + passed).unwrap()
    }

    fn stamp<'k>(
        &self,
        table: &TableName,
        partition_key: &str,
        keys: impl Iterator<Item = &'k str>,
    ) {
        let now = self.now();
        let mut written = self.written.lock().unwrap();
        for row_key in keys {
            let key = (table.as_str().to_owned(), partition_key.to_owned(), row_key.to_owned());
            written.insert(key, now);
        }
    }
}

impl Middleware for Stamped {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn service_time(&self) -> Option<DateTime> {
        Some(self.now())
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let mut page = self.inner.query(query).await?;
        let mut body: Value = serde_json::from_slice(&page.body).unwrap();
        let written = self.written.lock().unwrap();
        for row in body["value"].as_array_mut().unwrap() {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let key = (query.table.as_str().to_owned(), text("PartitionKey"), text("RowKey"));
            if let Some(time) = written.get(&key) {
                let etag = ETag::from_timestamp(row["Timestamp"].as_str().unwrap());
                row["odata.etag"] = Value::String(etag.as_str().to_owned());
                row["Timestamp"] = Value::String(time.to_string());
            }
        }
        page.body = body.to_string().into();
        Ok(page)
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let row_key = operation.row_key.clone();
        let written = self.inner.write(table, partition_key, operation).await?;
        self.stamp(table, partition_key, [&*row_key].into_iter());
        Ok(written)
    }

    async fn commit(
        &self,
        table: &TableName,
        batch: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let keys: Vec<_> = batch.operations.iter().map(|op| op.row_key.clone()).collect();
        let partition_key = batch.partition_key.clone();
        let written = self.inner.commit(table, batch).await?;
        self.stamp(table, &partition_key, keys.iter().map(String::as_str));
        Ok(written)
    }
}
