//! Stores that let another client write between two requests.

use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};
use table_orm::layer::{Layer, LayerError};
use table_orm::query::RowQuery;
use table_orm::store::Middleware;
use table_orm::store::{Batch, Operation, Page, Store, StoreError};
use table_orm::{ETag, TableName};

/// Pages hold few rows, so that writers come between them.
#[derive(Debug)]
pub struct SmallPages(pub u16);

impl Layer for SmallPages {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(Around { store, rows: self.0, between: WriteBetween::default() }))
    }
}

/// A write by another client, right before the next write arrives.
#[derive(Clone, Default)]
pub struct WriteBetween(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl WriteBetween {
    pub fn set(&self, write: impl Future<Output = ()> + Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::pin(write));
    }

    async fn run(&self) {
        let write = self.0.lock().unwrap().take();
        if let Some(write) = write {
            write.await;
        }
    }
}

impl std::fmt::Debug for WriteBetween {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WriteBetween")
    }
}

impl Layer for WriteBetween {
    fn around(self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
        Ok(Arc::new(Around { store, rows: 1000, between: self }))
    }
}

#[derive(Debug)]
struct Around {
    store: Arc<dyn Store>,
    rows: u16,
    between: WriteBetween,
}

impl Middleware for Around {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        tokio::task::yield_now().await;
        let mut query = query.clone();
        query.top = Some(query.top.unwrap_or(self.rows).min(self.rows));
        self.store.query(&query).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.between.run().await;
        self.store.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.between.run().await;
        self.store.commit(table, transaction).await
    }
}
