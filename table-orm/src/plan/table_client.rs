//! A table of a store. Converts the store's errors into the errors of calls.

use super::canonical_key::CanonicalKey;
use super::connection::Connection;
use super::entity_context::EntityContext;
use super::expiry::Expiry;
use super::step::Step;
use super::within::writing;
use crate::entity::{
    EntityRow, Excess, ExpiryProperty, LargeType, Loaded, MovedRow, ReadRow, ReportedType, Row,
    SummedType, TableEntity, canonical, eventual_at, name_of,
};
use crate::error::{Error, Result};
use crate::model::{DateTime, ETag, MAX_COMPARISONS, MAX_TRANSACTION_BYTES, Metadata, TableName};
use crate::query::{KeyRange, RowQuery, Span};
use crate::store::{
    Action, Batch, ErrorCode, IfMatch, Operation, Page, Store, StoreError, StoredRow,
};
use bytes::Bytes;
use futures_core::future::BoxFuture;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Writes what is missing of the rows in other partitions of an entity that has left its key. It gets the client of the
/// table that the entity left, and the row under that key.
pub(crate) type AfterMove = for<'c> fn(&'c TableClient, &'c MovedRow) -> BoxFuture<'c, Result<()>>;

/// The other form of a type whose keys change, for whoever has a client of one form and meets a canonical row of the other.
#[derive(Debug, Clone)]
pub(crate) struct OtherForm {
    /// The client of its table, which knows no other form.
    pub client: TableClient,
    /// The annotations that its canonical rows are read with.
    pub metadata: Metadata,
    /// Whether a canonical key is of this form, where both are in one table.
    pub takes: fn(&CanonicalKey) -> bool,
    /// The PartitionKeys of the guards of an entity's values that are unique over all partitions: `None` for a row of
    /// another type.
    pub guard_keys: fn(StoredRow) -> Result<Option<Vec<String>>>,
}

/// One table, read and written on behalf of one entity type.
#[derive(Debug, Clone)]
pub(crate) struct TableClient {
    pub connection: Arc<Connection>,
    pub table: TableName,
    pub context: EntityContext,
    /// The types of its writes whose entities are added up.
    pub summed: Vec<SummedType>,
    /// The types of its writes that add events.
    pub reported: Vec<ReportedType>,
    /// The types of its writes that refer to large values.
    pub large: Vec<LargeType>,
    /// The canonical RowKeys that its writes change: from one to the other. Else an entity that is deleted
    /// and one that is inserted are two.
    pub moves: Vec<(String, String)>,
    /// The canonical rows that its writes change, as they were read, of entities that refer to large values.
    pub before: Vec<EntityRow>,
    /// The ids of large values that its writes leave: another write, which waits, refers to them.
    pub kept: Vec<String>,
    /// A canonical row as events have it, by its RowKey, in place of the mark of a move that its writes put there.
    pub event_row: Option<(String, Bytes)>,
    /// The number that says which of its rows a total changes in; `None` for a random one.
    pub shard: Option<u64>,
    /// Whether it is the table of a period, which only types with such tables share.
    pub of_period: bool,
    /// Which reads leave out expired entities, and what stands in the way of a write if it has expired.
    pub expiry: Expiry,
    /// For a type whose entities leave their keys: what runs before the rows in other partitions of an entity that left
    /// are deleted.
    pub after_move: Option<AfterMove>,
    /// For a type whose keys change and which has values that are unique over all partitions.
    pub other_form: Option<Arc<OtherForm>>,
    /// How old the rows may be that `get` returns; `None` asks the store.
    #[cfg(feature = "cache")]
    pub cached_for: Option<Duration>,
}

/// What is stored under the key of a canonical row.
#[derive(Debug)]
pub(crate) enum Found<E> {
    /// The entity.
    Entity(Loaded<E>),
    /// A row of another type.
    OtherType,
    /// No row.
    Nothing,
}

impl TableClient {
    /// A table, on behalf of `E`.
    pub fn new<E: TableEntity>(connection: Arc<Connection>, table: TableName) -> Self {
        let summed = SummedType::of::<E>().into_iter().collect();
        let reported = ReportedType::of::<E>().into_iter().collect();
        let large = LargeType::of::<E>().into_iter().collect();
        Self {
            context: EntityContext::of::<E>(),
            summed,
            reported,
            large,
            of_period: E::BUCKET.is_some(),
            expiry: Expiry { property: ExpiryProperty::of::<E>(), ..Expiry::default() },
            #[cfg(feature = "cache")]
            cached_for: E::CACHED_FOR,
            ..Self::untyped(connection, table, E::NAME)
        }
    }

    /// The store behind the pointer. The pointer is a store too, but boxes each future again.
    pub fn store(&self) -> &dyn Store {
        &*self.connection.store
    }

    /// A query for these keys in this table.
    pub fn query(&self, keys: KeyRange) -> RowQuery {
        RowQuery::new(self.table.clone(), keys)
    }

    /// A query for these keys in the table of rows of kind `R`, which is this one or that of rows in other partitions.
    pub fn query_of<R: Row>(&self, keys: KeyRange) -> RowQuery {
        let eventual = eventual_at::<R::Entity>(R::INDEX);
        let table = eventual.map_or_else(|| self.table.clone(), |row| row.table_of(&self.table));
        let mut query = RowQuery::new(table, keys);
        let is_canonical = R::INDEX == canonical::<R::Entity>();
        query.mark.entity = Some(<R::Entity as ReadRow>::NAME);
        query.mark.row = (!is_canonical).then(|| name_of::<R::Entity>(R::INDEX));
        query
    }

    /// A table, on behalf of tools that do not know its entities.
    pub fn untyped(connection: Arc<Connection>, table: TableName, entity: &'static str) -> Self {
        let context = EntityContext::untyped(entity);
        Self {
            connection,
            table,
            context,
            summed: Vec::new(),
            reported: Vec::new(),
            large: Vec::new(),
            moves: Vec::new(),
            before: Vec::new(),
            kept: Vec::new(),
            event_row: None,
            shard: None,
            of_period: false,
            expiry: Expiry::default(),
            after_move: None,
            other_form: None,
            #[cfg(feature = "cache")]
            cached_for: None,
        }
    }

    /// A point query for a row of this table, for a reader that knows the types.
    pub fn point(&self, key: &CanonicalKey) -> RowQuery {
        self.query(key.range())
    }

    /// Sends a point query: one request, one row. `None` when the row does not exist.
    pub async fn row(&self, query: &RowQuery) -> Result<Option<StoredRow>> {
        let KeyRange { partition: Span::Exact(partition_key), row: Span::Exact(row_key) } =
            &query.keys
        else {
            // Callers pass only complete keys.
            return Ok(None);
        };
        let names: Option<Vec<&str>> =
            query.select.as_ref().map(|names| names.iter().map(|name| &**name).collect());
        let (select, metadata) = (names.as_deref(), query.metadata);
        let get = self.store().get(&query.table, partition_key, row_key, select, metadata);
        query.mark.around(get).await.map_err(|cause| self.rejected_point(query, cause))
    }

    fn rejected_point(&self, query: &RowQuery, cause: StoreError) -> Error {
        let CanonicalKey { partition_key, row_key } = CanonicalKey::of(query.keys.clone());
        self.in_table(&query.table).rejected(&partition_key, &row_key, None, cause).of_read()
    }

    /// Sends a point query, or returns the row as it was a short time ago, where the caller allows that. What
    /// decides a write must not come from here.
    pub async fn recent_row(&self, query: &RowQuery) -> Result<Option<StoredRow>> {
        #[cfg(feature = "cache")]
        if let (Some(time), None) = (self.cached_for, &query.select) {
            let Connection { cache, store, timer, .. } = &*self.connection;
            let at = (&query.table, &query.keys);
            let read = cache.read(store, *timer, at, query.metadata, time);
            return query
                .mark
                .around(read)
                .await
                .map_err(|cause| self.rejected_point(query, cause));
        }
        self.row(query).await
    }

    /// Reads the entity of a canonical row: one request. `None` when the row does not exist, or is of
    /// another type.
    pub async fn load<E: TableEntity>(&self, key: &CanonicalKey) -> Result<Option<Loaded<E>>> {
        Ok(match self.find(&self.point_of::<E>(key)).await? {
            Found::Entity(loaded) => Some(loaded),
            Found::OtherType | Found::Nothing => None,
        })
    }

    /// Sends a point query for a canonical row: one request.
    pub async fn find<E: TableEntity>(&self, query: &RowQuery) -> Result<Found<E>> {
        let Some(row) = self.row(query).await? else { return Ok(Found::Nothing) };
        Ok(Loaded::read(row.body, row.header)?.map_or(Found::OtherType, Found::Entity))
    }

    /// The point query for the canonical row of an entity.
    pub fn point_of<E: TableEntity>(&self, key: &CanonicalKey) -> RowQuery {
        let mut query = RowQuery { metadata: E::METADATA, ..self.point(key) };
        query.mark.entity = Some(E::NAME);
        query
    }

    /// Reads one row of any shape, with the types of its properties.
    pub fn annotated_row<'f>(
        &'f self,
        partition_key: &'f str,
        row_key: &'f str,
    ) -> BoxFuture<'f, Result<Option<StoredRow>>> {
        Box::pin(async move {
            let (partition_key, row_key) = (partition_key.to_owned(), row_key.to_owned());
            let query = self.point(&CanonicalKey { partition_key, row_key });
            self.row(&RowQuery { metadata: Metadata::Minimal, ..query }).await
        })
    }

    /// Reads one page of a query.
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
        page.map_err(|cause| {
            self.in_table(&query.table).rejected(partition_key, "", None, cause).of_read()
        })
    }

    /// Sends one write, or an entity group transaction, which writes all rows or no row. Returns the new
    /// ETags in order.
    ///
    /// Where entities are added up or reported, totals and events are written in the same transaction.
    ///
    /// An expired entity that is in the way is deleted first.
    pub fn send(&self, batch: Batch) -> BoxFuture<'_, Result<Vec<Option<ETag>>>> {
        Box::pin(async move {
            if self.large.is_empty() {
                return self.send_all(batch).await;
            }
            Box::pin(self.send_with_values(batch)).await
        })
    }

    pub(super) async fn send_all(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        if self.expiry.evict.is_empty() {
            return self.send_whole(batch).await;
        }
        Box::pin(self.send_evicting(batch)).await
    }

    pub(super) async fn send_whole(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        if self.is_accompanied(&batch) {
            // Boxed: most types have neither.
            return Box::pin(self.send_accompanied(batch)).await;
        }
        self.send_rows(batch).await
    }

    /// Sends these operations and no others.
    pub(super) async fn send_rows(&self, batch: Batch) -> Result<Vec<Option<ETag>>> {
        self.check_size(&batch)?;
        #[cfg(feature = "cache")]
        let _written = self.connection.cache.writes(&self.table, &batch);
        let partition_key = batch.partition_key.clone();
        // For an error: one text of all row keys, which costs less than a text for each.
        let mut row_keys = String::new();
        let rows: Vec<_> = batch
            .operations
            .iter()
            .map(|operation| {
                let start = row_keys.len();
                row_keys.push_str(&operation.row_key);
                (start..row_keys.len(), operation.action.name())
            })
            .collect();
        let sent = match Step::write(self.table.clone(), batch) {
            Some(Step::Write { table, partition_key, operation }) => {
                let write = self.store().write(&table, &partition_key, operation);
                writing(write).await.map(|tag| vec![tag])
            }
            Some(Step::Commit { table, batch }) => {
                writing(self.store().commit(&table, batch)).await
            }
            _ => Ok(Vec::new()),
        };
        sent.map_err(|cause| {
            // A single operation may come back without an index.
            let index = cause.operation.or((rows.len() == 1).then_some(0));
            let failed = index.and_then(|index| Some((index, rows.get(index)?)));
            let row_key = failed.map_or("", |(_, (row_key, _))| &row_keys[row_key.clone()]);
            let operation = failed.map(|(index, (_, name))| (index, *name));
            self.rejected(&partition_key, row_key, operation, cause)
        })
    }

    /// Does the same as [`send`](Self::send), but accepts that a row to delete in any version does not exist:
    /// an entity stored before its type had an index row has none. The canonical row must exist.
    pub async fn send_changes(
        &self,
        batch: Batch,
        canonical: Option<&str>,
    ) -> Result<Vec<Option<ETag>>> {
        let may_be_gone = |operation: &Operation| {
            operation.action == Action::Delete(IfMatch::Any)
                && canonical.is_none_or(|row_key| row_key != operation.row_key)
        };
        if !batch.operations.iter().any(may_be_gone) {
            return self.send(batch).await;
        }
        let Batch { partition_key, operations } = batch;
        let mut sent: Vec<usize> = (0..operations.len()).collect();
        loop {
            let operations_sent = sent.iter().map(|&index| operations[index].clone()).collect();
            let attempt =
                Batch { partition_key: partition_key.clone(), operations: operations_sent };
            let error = match self.send(attempt).await {
                Ok(etags) => {
                    let mut all = vec![None; operations.len()];
                    sent.into_iter().zip(etags).for_each(|(index, etag)| all[index] = etag);
                    return Ok(all);
                }
                Err(error) => error.with_operation(|index| sent.get(index).copied()),
            };
            let absent = match &error {
                Error::NotFound(rejection) => rejection.operation,
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

    /// Fails before the store does, with a text about the rows of an entity.
    fn check_size(&self, batch: &Batch) -> Result<()> {
        let (operations, most) = (batch.operations.len(), self.store().transaction_operations());
        let excess = if operations > most {
            Some(Excess::Operations(operations))
        } else {
            self.context.elements.and_then(|_| self.excess_bytes(batch))
        };
        let Some(excess) = excess else { return Ok(()) };
        match self.context.elements.and_then(|elements| elements(batch, excess)) {
            Some(error) => Err(Error::TooManyElements(error)),
            None if operations > most => Err(self.too_many(batch)),
            // A store says so itself.
            None => Ok(()),
        }
    }

    /// The bytes of a request that is too large.
    fn excess_bytes(&self, batch: &Batch) -> Option<Excess> {
        let bodies = batch.operations.iter().filter_map(|operation| operation.action.body());
        // The rest of a request is less than half of it.
        if bodies.map(Bytes::len).sum::<usize>() < MAX_TRANSACTION_BYTES / 2 {
            return None;
        }
        let bytes = self.store().commit_bytes(&self.table, &batch.partition_key, &batch.operations);
        (bytes > MAX_TRANSACTION_BYTES).then_some(Excess::Bytes(bytes))
    }

    /// Fails where a store would reject the transaction for its size. Nothing is sent.
    pub fn check_fits(&self, batch: &Batch) -> Result<()> {
        if batch.operations.len() > self.store().transaction_operations() {
            return Err(self.too_many(batch));
        }
        if self.excess_bytes(batch).is_none() {
            return Ok(());
        }
        let message = format!("the rows take more than {MAX_TRANSACTION_BYTES} bytes together");
        let cause = StoreError::new(ErrorCode::REQUEST_BODY_TOO_LARGE, message);
        Err(self.rejected(&batch.partition_key, "", None, cause))
    }

    /// How long ago that was, by the service's clock. By this machine's where the store gives no time: then the
    /// store is in this process, or its clock is unknown.
    pub fn age(&self, then: DateTime) -> Duration {
        self.store().service_time().unwrap_or_else(DateTime::now).since(then)
    }

    /// The same client of another table, which has no canonical rows, so nothing there is added up
    /// or reported.
    pub fn in_table(&self, table: &TableName) -> Self {
        if *table == self.table { self.clone() } else { self.in_table_with(table, self.context) }
    }

    /// A client for the rows of its entities in other partitions, in that table. They may have the RowKeys of
    /// entities, but are none: their writes change no totals, and add no events.
    pub fn in_other_table(&self, table: &TableName) -> Self {
        self.in_table_with(table, self.context.without_elements())
    }

    fn in_table_with(&self, table: &TableName, context: EntityContext) -> Self {
        let connection = Arc::clone(&self.connection);
        Self { context, ..Self::untyped(connection, table.clone(), context.entity) }
    }

    /// The same client, whose writes add no events: they change how entities are stored, and no entity.
    pub fn unreported(&self) -> Self {
        Self { reported: Vec::new(), ..self.clone() }
    }

    /// The same client, whose writes change these canonical RowKeys and rows, and totals in the rows that the number
    /// says.
    pub fn for_transaction(
        &self,
        moves: &[(String, String)],
        before: &[EntityRow],
        shard: Option<u64>,
    ) -> Cow<'_, Self> {
        if moves.is_empty() && before.is_empty() && shard.is_none() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { moves: moves.to_vec(), before: before.to_vec(), shard, ..self.clone() })
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use super::*;
    use crate::embedded::EmbeddedStore;

    #[tokio::test]
    async fn too_many_operations_fail_before_they_are_sent() {
        let store = Arc::new(EmbeddedStore::in_memory().unwrap());
        let connection = Arc::new(Connection::new(store));
        let client = TableClient::untyped(connection, TableName::new("orders").unwrap(), "Order");
        let send = |count: usize| {
            let delete = |row: usize| Operation {
                row_key: row.to_string(),
                action: Action::Delete(IfMatch::Any),
            };
            let operations = (0..count).map(delete).collect();
            client.send(Batch { partition_key: "p".to_owned(), operations })
        };
        let rejected = send(101).await.unwrap_err();
        assert!(matches!(rejected, Error::TooLarge(_)), "{rejected}");
        assert!(rejected.to_string().contains("101 operations"), "{rejected}");
        // The store, which has no such table, is asked.
        assert!(matches!(send(100).await, Err(Error::TableNotFound(_))));
    }
}
