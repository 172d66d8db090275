//! A layer that does the same around every request, whatever it is.

use crate::model::{ETag, Metadata, TableName};
use crate::query::{QueryClass, RowQuery, Span};
use crate::store::{Batch, Operation, Page, Store, StoreError, StoredRow};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// What a request is about.
#[cfg_attr(
    not(all(feature = "metrics", feature = "tracing")),
    allow(dead_code, reason = "some of it is only observed")
)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Request<'r> {
    /// The operation's name.
    pub(super) operation: &'static str,
    pub(super) table: Option<&'r TableName>,
    /// The partition, where there is only one.
    pub(super) partition_key: Option<&'r str>,
    /// The class, of a query.
    pub(super) class: Option<QueryClass>,
    /// How many entities it writes, or reads at least: 0 for tables.
    pub(super) entities: usize,
    /// The bytes of its rows.
    pub(super) bytes: usize,
}

/// What there is to say of an answer.
#[cfg_attr(
    not(all(feature = "metrics", feature = "tracing")),
    allow(dead_code, reason = "some of it is only observed")
)]
pub(super) trait Answer {
    /// Rows returned.
    fn returned(&self) -> Option<usize> {
        None
    }

    /// Rows looked at.
    fn scanned(&self) -> Option<usize> {
        None
    }

    /// The bytes of its rows.
    fn bytes(&self) -> usize {
        0
    }
}

impl Answer for () {}
impl Answer for Vec<TableName> {}
impl Answer for Option<ETag> {}
impl Answer for Vec<Option<ETag>> {}

impl Answer for Option<StoredRow> {
    fn returned(&self) -> Option<usize> {
        Some(usize::from(self.is_some()))
    }

    fn scanned(&self) -> Option<usize> {
        self.returned()
    }

    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, |row| row.body.len())
    }
}

impl Answer for Page {
    /// Counts the rows of the body: one pass over its text.
    fn returned(&self) -> Option<usize> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_slice(&self.body).ok()?;
        let rows: Vec<&RawValue> = serde_json::from_str(members.get("value")?.get()).ok()?;
        Some(rows.len())
    }

    fn scanned(&self) -> Option<usize> {
        self.scanned.and_then(|rows| rows.try_into().ok())
    }

    fn bytes(&self) -> usize {
        self.body.len()
    }
}

/// What a layer does around a request.
pub(super) trait Around: fmt::Debug + Send + Sync {
    fn pass<T: Answer + Send>(
        &self,
        request: Request<'_>,
        answer: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;
}

/// A store with that around its requests.
#[derive(Debug)]
pub(super) struct Through<A> {
    pub(super) inner: Arc<dyn Store>,
    pub(super) around: A,
}

pub(super) fn on_table<'r>(operation: &'static str, table: Option<&'r TableName>) -> Request<'r> {
    Request { operation, table, partition_key: None, class: None, entities: 0, bytes: 0 }
}

fn body_len(operation: &Operation) -> usize {
    operation.action.body().map_or(0, bytes::Bytes::len)
}

#[async_trait]
impl<A: Around> Store for Through<A> {
    fn hidden_property(&self) -> Option<&str> {
        self.inner.hidden_property()
    }

    async fn create_table(&self, table: &TableName) -> Result<(), StoreError> {
        let request = on_table("create_table", Some(table));
        self.around.pass(request, self.inner.create_table(table)).await
    }

    async fn delete_table(&self, table: &TableName) -> Result<(), StoreError> {
        let request = on_table("delete_table", Some(table));
        self.around.pass(request, self.inner.delete_table(table)).await
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, StoreError> {
        self.around.pass(on_table("list_tables", None), self.inner.list_tables()).await
    }

    async fn get(
        &self,
        table: &TableName,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>, StoreError> {
        let request = Request {
            partition_key: Some(partition_key),
            class: Some(QueryClass::Point),
            entities: 1,
            ..on_table("get", Some(table))
        };
        let row = self.inner.get(table, partition_key, row_key, select, metadata);
        self.around.pass(request, row).await
    }

    async fn query(&self, query: &RowQuery) -> Result<Page, StoreError> {
        let partition_key = match &query.keys.partition {
            Span::Exact(partition_key) => Some(partition_key.as_str()),
            _ => None,
        };
        let request = Request {
            partition_key,
            class: Some(query.keys.class()),
            entities: 1,
            ..on_table("query", Some(&query.table))
        };
        self.around.pass(request, self.inner.query(query)).await
    }

    async fn write(
        &self,
        table: &TableName,
        partition_key: &str,
        operation: Operation,
    ) -> Result<Option<ETag>, StoreError> {
        let request = Request {
            partition_key: Some(partition_key),
            entities: 1,
            bytes: body_len(&operation),
            ..on_table(operation.action.name(), Some(table))
        };
        self.around.pass(request, self.inner.write(table, partition_key, operation)).await
    }

    async fn commit(
        &self,
        table: &TableName,
        transaction: Batch,
    ) -> Result<Vec<Option<ETag>>, StoreError> {
        let partition_key = transaction.partition_key.clone();
        let request = Request {
            partition_key: Some(&partition_key),
            entities: transaction.operations.len(),
            bytes: transaction.operations.iter().map(body_len).sum(),
            ..on_table("commit", Some(table))
        };
        self.around.pass(request, self.inner.commit(table, transaction)).await
    }
}

/// A partition of a table: names of tables are the same in any case.
pub(super) type Partition = (String, String);

impl Request<'_> {
    /// The request's partition, where there is only one.
    pub(super) fn partition(&self) -> Option<Partition> {
        Some((self.table?.as_str().to_ascii_lowercase(), self.partition_key?.to_owned()))
    }
}
