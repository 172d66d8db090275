//! A table of a store, and the way its answers become the errors of calls.

use crate::entity::{ETag, GuardTemplate, TableEntity, TableName};
use crate::error::{Error, Refusal, Result};
use crate::query::{KeyRange, MAX_COMPARISONS, Row, RowQuery, Span};
use crate::store::{
    Action, ErrorCode, IfMatch, MAX_TRANSACTION_BYTES, Metadata, Operation, Page, Store,
    StoreError, StoredRow, Transaction,
};
use std::sync::Arc;

/// One table, read and written on behalf of one entity type.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    pub store: Arc<dyn Store>,
    pub table: TableName,
    /// For error messages.
    pub entity: &'static str,
    /// By which a refused insert is told from another entity's claim.
    pub guards: &'static [GuardTemplate],
    /// Its rows other than the canonical one.
    pub index_rows: fn(&str) -> Option<&'static str>,
}

/// The name of the index row that a RowKey belongs to.
fn index_row<E: TableEntity>(row_key: &str) -> Option<&'static str> {
    let mut rows = E::ROWS.iter().enumerate();
    let (index, template) = rows.find(|(_, row)| row_key.starts_with(row.start))?;
    (index != <E::Canonical as Row>::INDEX).then_some(template.name)
}

impl Channel {
    /// That table, on behalf of `E`.
    pub fn new<E: TableEntity>(store: Arc<dyn Store>, table: TableName) -> Self {
        Self { store, table, entity: E::NAME, guards: E::GUARDS, index_rows: index_row::<E> }
    }

    /// The store behind the pointer: the pointer is a store too, one that boxes each future again.
    fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// A query of these keys in this table.
    pub fn query(&self, keys: KeyRange) -> RowQuery {
        RowQuery::new(self.table.clone(), keys)
    }

    /// That table, on behalf of tools that know no entity of it.
    pub fn untyped(store: Arc<dyn Store>, table: TableName, entity: &'static str) -> Self {
        Self { store, table, entity, guards: &[], index_rows: |_| None }
    }

    pub async fn get(
        &self,
        partition_key: &str,
        row_key: &str,
        select: Option<&[&str]>,
        metadata: Metadata,
    ) -> Result<Option<StoredRow>> {
        let found = self.store().get(&self.table, partition_key, row_key, select, metadata).await;
        found.map_err(|cause| self.refused(partition_key, row_key, None, cause))
    }

    /// One page of a query.
    pub async fn page(&self, query: &RowQuery) -> Result<Page> {
        let comparisons = query.comparisons();
        if comparisons > MAX_COMPARISONS {
            return Err(Error::FilterTooLong(comparisons));
        }
        let partition_key = match &query.keys.partition {
            Span::Exact(key) => key.as_str(),
            _ => "",
        };
        let page = self.store().query(query).await;
        page.map_err(|cause| self.refused(partition_key, "", None, cause))
    }

    /// Writes all operations or none: one write, or an entity group transaction. Returns the new
    /// ETags in order.
    pub async fn send(&self, mut transaction: Transaction) -> Result<Vec<Option<ETag>>> {
        self.check_size(&transaction)?;
        let partition_key = transaction.partition_key.clone();
        // For a refusal; the row keys one behind the other, which costs less than a text for each.
        let mut row_keys = String::new();
        let rows: Vec<_> = transaction
            .operations
            .iter()
            .map(|operation| {
                let start = row_keys.len();
                row_keys.push_str(&operation.row_key);
                (start..row_keys.len(), operation.action.name())
            })
            .collect();
        let sent = match transaction.operations.len() {
            1 => match transaction.operations.pop() {
                Some(only) => {
                    self.store().write(&self.table, &partition_key, only).await.map(|tag| vec![tag])
                }
                None => Ok(Vec::new()),
            },
            _ => self.store().commit(&self.table, transaction).await,
        };
        sent.map_err(|cause| {
            // A single operation may come back without an index.
            let index = cause.operation.or((rows.len() == 1).then_some(0));
            let failed = index.and_then(|index| Some((index, rows.get(index)?)));
            let row_key = failed.map_or("", |(_, (row_key, _))| &row_keys[row_key.clone()]);
            let operation = failed.map(|(index, (_, name))| (index, *name));
            self.refused(&partition_key, row_key, operation, cause)
        })
    }

    /// As [`send`](Self::send), but an index row that is to be deleted may be gone already: an
    /// entity that was written before it had that index has none. The canonical row must be there.
    pub async fn send_changes(
        &self,
        transaction: Transaction,
        canonical: &str,
    ) -> Result<Vec<Option<ETag>>> {
        let may_be_gone = |operation: &Operation| {
            operation.action == Action::Delete(IfMatch::Any) && operation.row_key != canonical
        };
        if !transaction.operations.iter().any(may_be_gone) {
            return self.send(transaction).await;
        }
        let Transaction { partition_key, operations } = transaction;
        let mut sent: Vec<usize> = (0..operations.len()).collect();
        loop {
            let operations_sent = sent.iter().map(|&index| operations[index].clone()).collect();
            let attempt =
                Transaction { partition_key: partition_key.clone(), operations: operations_sent };
            let error = match self.send(attempt).await {
                Ok(etags) => {
                    let mut all = vec![None; operations.len()];
                    sent.into_iter().zip(etags).for_each(|(index, etag)| all[index] = etag);
                    return Ok(all);
                }
                Err(error) => error.with_operation(|index| sent.get(index).copied()),
            };
            let absent = match &error {
                Error::NotFound(refusal) => refusal.operation,
                _ => None,
            };
            match absent {
                Some((index, _)) if may_be_gone(&operations[index]) => {
                    sent.retain(|&other| other != index);
                }
                _ => return Err(error),
            }
        }
    }

    fn check_size(&self, transaction: &Transaction) -> Result<()> {
        let bytes: usize = transaction
            .operations
            .iter()
            .filter_map(|operation| operation.action.body())
            .map(bytes::Bytes::len)
            .sum();
        if bytes <= MAX_TRANSACTION_BYTES {
            return Ok(());
        }
        let message = format!(
            "the entity's rows take {bytes} bytes; one entity group transaction takes 4 MiB"
        );
        let cause = StoreError::new(ErrorCode::REQUEST_BODY_TOO_LARGE, message);
        Err(self.refused(&transaction.partition_key, "", None, cause))
    }

    /// The service's 404 for an update of a row that is not there.
    pub fn not_found(&self, partition_key: &str, row_key: &str) -> Error {
        let cause = StoreError::new(ErrorCode::RESOURCE_NOT_FOUND, "there is no such row");
        self.refused(partition_key, row_key, None, cause)
    }

    /// The service's 412 for an update of a row in another version.
    pub fn changed(&self, partition_key: &str, row_key: &str) -> Error {
        let cause = StoreError::new(
            ErrorCode::UPDATE_CONDITION_NOT_SATISFIED,
            "the row has another version than the one asked for",
        );
        self.refused(partition_key, row_key, None, cause)
    }

    fn refused(
        &self,
        partition_key: &str,
        row_key: &str,
        operation: Option<(usize, &'static str)>,
        cause: StoreError,
    ) -> Error {
        Error::refused(Refusal {
            entity: self.entity,
            table: self.table.as_str().to_owned(),
            partition_key: partition_key.to_owned(),
            row_key: row_key.to_owned(),
            index_row: (self.index_rows)(row_key).filter(|_| !row_key.is_empty()),
            operation,
            cause,
        })
        .guarded_by(self.guards)
    }
}
