//! The base of every store around a store: it forwards each request, and a layer writes only what it
//! adds.
//!
//! Invariant: the one list of forwarded methods is here. A method added to [`Store`] reaches the store
//! below through every layer, those without a request included.

use super::{
    Backend, Batch, Operation, Page, Secondary, Store, StoreAnswer, StoreError, StoreRequest,
    StoredRow,
};
use crate::model::{DateTime, ETag, Metadata, TableName};
use crate::query::RowQuery;
use async_trait::async_trait;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

type Answer<T> = Result<T, StoreError>;

/// A store around a store. Every `Middleware` is a [`Store`].
///
/// Each request goes to [`inner`](Self::inner). What a layer does around all of them, it does in
/// [`call`](Self::call). What it does to one kind of request, it does by writing that method itself,
/// and `call` is then not run for that kind.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
/// use table_orm::layer::{Layer, LayerError};
/// use table_orm::store::{ErrorCode, Middleware, Store, StoreAnswer, StoreError, StoreRequest};
/// use table_orm::{DynamicEntity, Error, TableName, Tables};
///
/// /// Rejects writes while it is set.
/// #[derive(Debug, Clone, Default)]
/// struct ReadOnly(Arc<AtomicBool>);
///
/// #[derive(Debug)]
/// struct ReadOnlyStore {
///     inner: Arc<dyn Store>,
///     read_only: ReadOnly,
/// }
///
/// impl Layer for ReadOnly {
///     fn around(self, inner: Arc<dyn Store>) -> Result<Arc<dyn Store>, LayerError> {
///         Ok(Arc::new(ReadOnlyStore { inner, read_only: self }))
///     }
/// }
///
/// impl Middleware for ReadOnlyStore {
///     fn inner(&self) -> &dyn Store {
///         &*self.inner
///     }
///
///     async fn call<T: StoreAnswer>(
///         &self,
///         request: StoreRequest<'_>,
///         next: impl Future<Output = Result<T, StoreError>> + Send,
///     ) -> Result<T, StoreError> {
///         if request.is_write() && self.read_only.0.load(Relaxed) {
///             return Err(StoreError::new(ErrorCode::SERVER_BUSY, "read-only for now"));
///         }
///         next.await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// let read_only = ReadOnly::default();
/// let tables = Tables::in_memory()?.layer(read_only.clone())?;
/// let orders = TableName::new("orders")?;
/// tables.create(&orders).await?;
/// read_only.0.store(true, Relaxed);
/// let rejected = tables.table(orders).insert(&DynamicEntity::new("2026", "1")).await;
/// assert!(matches!(rejected, Err(Error::Throttled(_))));
/// # Ok(())
/// # }
/// ```
pub trait Middleware: fmt::Debug + Send + Sync {
    /// The store below.
    fn inner(&self) -> &dyn Store;

    /// Sends a request and returns its answer. `next` sends it when awaited; a layer that drops
    /// `next` sends nothing.
    ///
    /// # Errors
    /// The store's error, or one of the layer's own.
    fn call<T: StoreAnswer>(
        &self,
        request: StoreRequest<'_>,
        next: impl Future<Output = Answer<T>> + Send,
    ) -> impl Future<Output = Answer<T>> + Send {
        let _ = request;
        next
    }

    /// As [`Store::hidden_property`].
    fn hidden_property(&self) -> Option<&str> {
        self.inner().hidden_property()
    }

    /// As [`Store::backend`].
    fn backend(&self) -> Backend {
        self.inner().backend()
    }

    /// As [`Store::secondary`].
    fn secondary(&self) -> Option<Arc<dyn Secondary>> {
        self.inner().secondary()
    }

    /// As [`Store::service_time`].
    fn service_time(&self) -> Option<DateTime> {
        self.inner().service_time()
    }

    /// As [`Store::has_row_bounds`].
    fn has_row_bounds(&self) -> bool {
        self.inner().has_row_bounds()
    }

    /// As [`Store::commit_bytes`].
    fn commit_bytes(
        &self,
        table: &TableName,
        partition_key: &str,
        operations: &[Operation],
    ) -> usize {
        self.inner().commit_bytes(table, partition_key, operations)
    }

    /// As [`Store::transaction_operations`].
    fn transaction_operations(&self) -> usize {
        self.inner().transaction_operations()
    }

    /// As [`Store::create_table`].
    fn create_table(&self, table: &TableName) -> impl Future<Output = Answer<()>> + Send {
        async move {
            let request = StoreRequest::create_table(table);
            self.call(request, self.inner().create_table(table)).await
        }
    }

    /// As [`Store::delete_table`].
    fn delete_table(&self, table: &TableName) -> impl Future<Output = Answer<()>> + Send {
        async move {
            let request = StoreRequest::delete_table(table);
            self.call(request, self.inner().delete_table(table)).await
        }
    }

    /// As [`Store::list_tables`].
    fn list_tables(&self) -> impl Future<Output = Answer<Vec<TableName>>> + Send {
        async move { self.call(StoreRequest::list_tables(), self.inner().list_tables()).await }
    }

    /// As [`Store::get`].
    fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> impl Future<Output = Answer<Option<StoredRow>>> + Send {
        async move {
            let row = self.inner().get(table, partition_key, row_key, select, metadata);
            self.call(StoreRequest::get(table, partition_key), row).await
        }
    }

    /// As [`Store::query`].
    fn query(&self, query: &RowQuery) -> impl Future<Output = Answer<Page>> + Send {
        async move { self.call(StoreRequest::query(query), self.inner().query(query)).await }
    }

    /// As [`Store::write`].
    fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> impl Future<Output = Answer<Option<ETag>>> + Send {
        async move {
            let request = StoreRequest::write(table, partition_key, &operation);
            self.call(request, self.inner().write(table, partition_key, operation)).await
        }
    }

    /// As [`Store::commit`].
    fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> impl Future<Output = Answer<Vec<Option<ETag>>>> + Send {
        async move {
            let partition_key = transaction.partition_key.clone();
            let request = StoreRequest::commit(table, &partition_key, &transaction.operations);
            self.call(request, self.inner().commit(table, transaction)).await
        }
    }
}

/// Implements `Store` by the methods of the same names of `$by`.
macro_rules! store_by {
    ($by:ident, $self:ident => $target:expr, impl [$($generics:tt)*] $store:ty) => {
        #[async_trait]
        impl<$($generics)*> Store for $store {
            fn hidden_property(&$self) -> Option<&str> {
                $by::hidden_property($target)
            }

            fn backend(&$self) -> Backend {
                $by::backend($target)
            }

            fn secondary(&$self) -> Option<Arc<dyn Secondary>> {
                $by::secondary($target)
            }

            fn service_time(&$self) -> Option<DateTime> {
                $by::service_time($target)
            }

            fn has_row_bounds(&$self) -> bool {
                $by::has_row_bounds($target)
            }

            fn commit_bytes(
                &$self,
                table: &TableName,
                partition_key: &str,
                operations: &[Operation],
            ) -> usize {
                $by::commit_bytes($target, table, partition_key, operations)
            }

            fn transaction_operations(&$self) -> usize {
                $by::transaction_operations($target)
            }

            async fn create_table(&$self, table: &TableName) -> Answer<()> {
                $by::create_table($target, table).await
            }

            async fn delete_table(&$self, table: &TableName) -> Answer<()> {
                $by::delete_table($target, table).await
            }

            async fn list_tables(&$self) -> Answer<Vec<TableName>> {
                $by::list_tables($target).await
            }

            async fn get(
                &$self,
                table: &TableName,
                partition_key: &str,
                row_key: &str,
                select: Option<&[&str]>,
                metadata: Metadata,
            ) -> Answer<Option<StoredRow>> {
                $by::get($target, table, partition_key, row_key, select, metadata).await
            }

            async fn query(&$self, query: &RowQuery) -> Answer<Page> {
                $by::query($target, query).await
            }

            async fn write(
                &$self,
                table: &TableName,
                partition_key: &str,
                operation: Operation,
            ) -> Answer<Option<ETag>> {
                $by::write($target, table, partition_key, operation).await
            }

            async fn commit(
                &$self,
                table: &TableName,
                transaction: Batch,
            ) -> Answer<Vec<Option<ETag>>> {
                $by::commit($target, table, transaction).await
            }
        }
    };
}

store_by!(Middleware, self => self, impl [M: Middleware] M);

// A shared store is a store. `Arc` is no `Middleware`: with both traits in scope, a call on an
// `Arc<dyn Store>` could not be resolved.
store_by!(Store, self => &**self, impl [S: Store + ?Sized] Arc<S>);
