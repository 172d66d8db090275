//! Stores around a store that see requests, and change them or their answers.

use async_trait::async_trait;
use std::fmt::Debug;
use table_orm::model::Metadata;
use table_orm::query::RowQuery;
use table_orm::store::{Batch, Operation, Page, Store, StoreError, StoredRow};
use table_orm::{ETag, TableName};

/// What happens to reads and writes on their way: nothing, where a method is not given.
#[async_trait]
pub trait Intercept: Debug + Send + Sync {
    fn inner(&self) -> &dyn Store;

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.inner().get(table, partition_key, row_key, select, metadata).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.inner().query(query).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.inner().write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.inner().commit(table, transaction).await
    }
}

/// The store of an [`Intercept`].
#[derive(Debug)]
pub struct InterceptedStore<M>(pub M);

#[async_trait]
impl<M: Intercept> Store for InterceptedStore<M> {
    fn hidden_property(&self) -> Option<&str> {
        self.0.inner().hidden_property()
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.0.inner().create_table(table).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        self.0.inner().delete_table(table).await
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        self.0.inner().list_tables().await
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        self.0.get(table, partition_key, row_key, select, metadata).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        self.0.query(query).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        self.0.write(table, partition_key, operation).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        self.0.commit(table, transaction).await
    }
}
