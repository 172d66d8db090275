//! The typed calls on one table: each a value that is awaited to run, or asked for its plan.

mod bulk;
mod delete_partition;
mod get;
mod last_method;
mod list;
mod list_many;
mod load;
mod loaded_set;
mod maintenance;
mod merge;
mod merged;
mod pages;
mod patch;
mod save;
mod table;
mod transaction;
mod union;
mod write;

pub use crate::error::TransactionError;
pub use crate::plan::MAX_ATTEMPTS;
pub use bulk::{
    Bulk, BulkFailure, BulkProgress, BulkReport, DEFAULT_PARALLELISM, OPEN_BYTES, OPEN_OPERATIONS,
    Remainder,
};
pub use get::{Get, GetMany, MAX_PARALLEL_GETS};
pub(crate) use last_method::sent_by_last_method;
#[doc(hidden)]
pub use last_method::{Await, ReadsLists};
pub use list::List;
pub use list_many::ListMany;
pub use load::Load;
pub use loaded_set::LoadedSet;
pub use maintenance::{Backfill, BackfillProgress, BackfillReport};
pub use maintenance::{Finding, Problem, Verify, VerifyReport};
pub use maintenance::{Repair, RepairFailure, RepairReport, SkipReason, Skipped};
pub use merge::{Merge, Update};
pub use pages::{Pages, RowPage, RowStream};
pub use patch::{EntityPatch, Patch};
pub use save::{Delete, Save};
pub use table::{DynamicList, Table};
pub use transaction::Transaction;
pub use union::UnionList;
pub use write::Write;

use crate::entity::{
    AsLoaded, CanonicalKeyOf, CompleteKey, EntityRows, FromRow, Invalid, Loaded, Query, Row, RowOf,
    TableEntity, WholePartition, keys_of,
};
use crate::error::{Error, Result, rejected};
use crate::model::{ETag, TableName};
use crate::plan::{
    Connection, TableClient, delete_all, insert_all, merge_all, replace_all, upsert_all,
};
use crate::store::{Batch, IfMatch};
use bulk::BatchPolicy;
use std::marker::PhantomData;
use std::sync::Arc;
use write::{Change, OnExisting};

/// The entities of type `E` in one table. Cheap to clone.
///
/// Calls on entities return a value that sends nothing by itself: `.await` runs it, and `.plan()`
/// says what it would send; all but [`delete_partition`](Self::delete_partition), which goes on by
/// what it reads.
///
/// Rows are replaced whole, but for [`merge`](Self::merge) and
/// [`insert_or_merge`](Self::insert_or_merge): a property that `E` does not know, from a newer
/// version of the app or another tool, goes with the next `save`, `update`, `upsert` or `replace`,
/// and rows that only a newer version has are not kept in step. See
/// [two versions at once](crate::guide::out_of_step#two-versions-at-once).
#[derive(Debug)]
pub struct Repo<E> {
    pub(crate) client: TableClient,
    entity: PhantomData<fn() -> E>,
}

impl<E> Clone for Repo<E> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), entity: PhantomData }
    }
}

impl<E: TableEntity> Repo<E> {
    pub(crate) fn new(connection: Arc<Connection>, table: TableName) -> Self {
        Self { client: TableClient::new::<E>(connection, table), entity: PhantomData }
    }

    /// The table's name.
    #[must_use]
    pub const fn table(&self) -> &TableName {
        &self.client.table
    }

    /// Creates the table.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`].
    pub async fn create_table(&self) -> Result<()> {
        let table = self.table();
        self.client
            .store()
            .create_table(table)
            .await
            .map_err(|cause| rejected(table.as_str(), cause))
    }

    /// Creates the table unless it is there. Says whether it was created.
    ///
    /// # Errors
    /// When the store cannot be reached, or while a table of that name is being deleted.
    pub async fn create_table_if_not_exists(&self) -> Result<bool> {
        match self.create_table().await {
            Ok(()) => Ok(true),
            Err(Error::AlreadyExists(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes the table with all its rows.
    ///
    /// # Errors
    /// [`Error::TableNotFound`].
    pub async fn delete_table(&self) -> Result<()> {
        let table = self.table();
        self.client
            .store()
            .delete_table(table)
            .await
            .map_err(|cause| rejected(table.as_str(), cause))
    }

    /// Point query: the entity in the row of a complete key, or `None`. One request, one row.
    ///
    /// The key may be of any row that holds the whole entity.
    ///
    /// What the row's properties say is not compared with its key: where another program has written
    /// a row whose properties make another key, the entity is the other key's. `load` refuses such
    /// rows; see [rows that others wrote](crate::guide::out_of_step#a-key-that-the-properties-do-not-make).
    pub fn get<Q>(&self, key: Q) -> Get<Q::Row, E>
    where
        Q: CompleteKey,
        Q::Row: RowOf<E>,
    {
        Get::new(self.client.clone(), key.into_keys())
    }

    /// Many point queries, at most 16 at a time. Answers come in the order of the keys.
    pub fn get_many<Q>(&self, keys: impl IntoIterator<Item = Q>) -> GetMany<Q::Row, E>
    where
        Q: CompleteKey,
        Q::Row: RowOf<E>,
    {
        let keys = keys.into_iter().map(Query::into_keys).collect();
        GetMany::new(self.client.clone(), keys)
    }

    /// The rows of a query in one partition. At most 1000 rows a request.
    ///
    /// As in [`get`](Self::get), properties are not compared with keys.
    pub fn list<Q>(&self, query: Q) -> List<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        let query = keys_of(query).map(|keys| self.client.query(keys));
        List::new(self.client.clone(), query.map_err(Into::into))
    }

    /// Several queries of one kind, such as one for each shard of a load; at most 16 at a time.
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    ///
    /// /// A day's events would all go to one partition; eight share them.
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "events", partition = "{share}__{day:05}", row = "{id:010}")]
    /// #[component(share = shard(id, 8))]
    /// struct Event {
    ///     day: u32,
    ///     id: u32,
    ///     text: String,
    /// }
    ///
    /// # async fn run() -> table_orm::Result<()> {
    /// let events = Tables::in_memory()?.repo::<Event>();
    /// events.create_table().await?;
    /// let today = (0..100).map(|id| Event { day: 20_778, id, text: "started".into() });
    /// events.insert_many(today).await.all()?;
    ///
    /// // One event: its shard is found from its id.
    /// let one = events.get(Event::partition(7, 20_778).row().id(7)).await?;
    /// assert_eq!(one.map(|event| event.id), Some(7));
    ///
    /// // All of a day: eight queries.
    /// let day = events.list_many(Event::partitions(20_778)).collect().await?;
    /// assert_eq!(day.len(), 100);
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn list_many<Q>(
        &self,
        queries: impl IntoIterator<Item = Q>,
    ) -> ListMany<Q::Row, Q::Class, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
    {
        ListMany(queries.into_iter().map(|query| self.list(query)).collect())
    }

    /// The entities of a query, to be changed and saved: with their versions.
    ///
    /// Through an index row it takes one more point query for each entity, for the version that
    /// guards an entity is that of its canonical row.
    ///
    /// # Errors
    /// The call gives [`Error::KeyMismatch`] for a row whose properties make another key than it stands
    /// under, for what is saved would go there.
    pub fn load<Q>(&self, query: Q) -> Load<Q::Row, E>
    where
        Q: Query,
        Q::Row: RowOf<E>,
        E: FromRow<Q::Row>,
    {
        Load { client: self.client.clone(), keys: keys_of(query), read: PhantomData }
    }

    /// Inserts an entity: all of its rows in one request. Returns its ETag.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`] when one of the rows is there.
    pub fn insert(&self, entity: &E) -> Write<E> {
        self.blind(entity, insert_all)
    }

    /// Inserts an entity, or replaces the one under its canonical key. Returns its ETag.
    ///
    /// One request where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL); else it
    /// reads the canonical row and writes the difference under its ETag, in turn with others as
    /// [`update`](Self::update), at most [`MAX_ATTEMPTS`] times or [as told](Write::attempts). Then
    /// [`Error::Conflict`] says that writers from elsewhere came between each time: call again; and
    /// [`Error::KeyMismatch`] that the properties stored there make another key, so that it is not known
    /// which rows are to go.
    ///
    /// Of properties that `E` does not know none stays ([two versions at
    /// once](crate::guide::out_of_step#two-versions-at-once)).
    pub fn upsert(&self, entity: &E) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            self.blind(entity, upsert_all)
        } else {
            self.over_stored(entity, OnExisting::Upsert)
        }
    }

    /// Inserts an entity, or sets its properties in the one under its canonical key: properties
    /// that it has none of (`None`, empty slots of a series) stay as they are stored. Returns its
    /// ETag.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// A property is removed by `save`, `update`, or `upsert`, which replace. A series that is a
    /// `Vec` has no empty slots: its values are merged one by one, so that of a longer stored one
    /// the rest stays.
    pub fn insert_or_merge(&self, entity: &E) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            self.blind(entity, merge_all)
        } else {
            self.over_stored(entity, OnExisting::Merge)
        }
    }

    /// Sets the properties of a patch in the entity under a canonical key: one that is there, or
    /// with [`or_insert`](Merge::or_insert) a new one. Returns its ETag.
    ///
    /// One request where [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW): no read, and no other
    /// writer's properties are lost. Else it reads the canonical row and writes it and the index
    /// rows that store any of these properties under its ETag, in turn with others as
    /// [`update`](Self::update), at most [`MAX_ATTEMPTS`] times or [as told](Merge::attempts).
    ///
    /// No property is removed: the service merges what is given. For that there is
    /// [`update`](Self::update), or `load` and [`save`](Self::save).
    ///
    /// ```
    /// use table_orm::{TableEntity, Tables};
    ///
    /// /// One row for each day, one property for each hour.
    /// #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// #[table(name = "loads", partition = "{host}", row = "{day:05}")]
    /// struct Load {
    ///     #[table(key_only)]
    ///     host: String,
    ///     #[table(key_only)]
    ///     day: u32,
    ///     #[table(series)]
    ///     percent: [Option<f64>; 24],
    ///     note: Option<String>,
    /// }
    ///
    /// # async fn run() -> table_orm::Result<()> {
    /// let loads = Tables::in_memory()?.repo::<Load>();
    /// loads.create_table().await?;
    /// let day = Load::partition("web-1").row().day(20_778);
    /// // One hour of 24: one request, nothing read.
    /// let hour = LoadPatch::default().percent_at(13, 41.5);
    /// loads.merge(&day, hour).or_insert().await?;
    /// loads.merge(&day, LoadPatch::default().note("deploy")).await?;
    /// let stored = loads.get(&day).await?.unwrap();
    /// assert_eq!((stored.percent[13], stored.note.as_deref()), (Some(41.5), Some("deploy")));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`]; with `or_insert`, [`Error::IncompleteEntity`]; where it reads first,
    /// [`Error::KeyMismatch`], as [`load`](Self::load), and [`Error::Conflict`], as `update`.
    pub fn merge<Q>(&self, key: Q, patch: impl EntityPatch<E>) -> Merge<E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        Merge::new(self.client.clone(), key.into_keys(), patch.into_patch())
    }

    /// Reads the entity under a canonical key, has it changed, and saves it under its ETag; when
    /// another writer came between, again from the start, at most [`MAX_ATTEMPTS`] times or [as
    /// told](Update::attempts). For increments and appends, which depend on what is stored. Gives the
    /// entity as it is now.
    ///
    /// Writes of one entity that read first take turns, in the order they began, among all clones of
    /// a [`Tables`](crate::Tables): each sends a read and a write. Writers from elsewhere, such as
    /// other processes, and `save` and blind writes, which do not wait, may come between. A call waits
    /// 5 seconds for its turn at most, since a call that has begun keeps its place until it ends or is
    /// dropped: set aside, unfinished and not polled, it holds up others of its entity for so long.
    ///
    /// `change` is called once for each attempt, with what is stored then. Properties that `E` does
    /// not know go, as with [`save`](Self::save).
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] when other writers came between each time: call again;
    /// [`Error::AlreadyExists`] or [`Error::UniqueViolation`] when another entity has a key of the
    /// changed one; [`Error::PartitionChanged`]; [`Error::KeyMismatch`], as [`load`](Self::load).
    pub fn update<'a, Q>(&self, key: Q, change: impl FnMut(&mut E) + Send + 'a) -> Update<'a, E>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let mut change = change;
        self.try_update(key, move |entity| {
            change(entity);
            Ok(())
        })
    }

    /// As [`update`](Self::update), for a change that may find that it is not to be made: then its
    /// error is given back, and nothing is written.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "orders", partition = "{shop}", row = "{id:05}")]
    /// # struct Order { shop: String, id: u32, shipped: bool, cancelled: bool }
    /// #[derive(Debug, thiserror::Error)]
    /// enum CancelError {
    ///     #[error("it has left the house")]
    ///     Shipped,
    ///     #[error(transparent)]
    ///     Table(#[from] table_orm::Error),
    /// }
    ///
    /// # async fn run() -> Result<(), CancelError> {
    /// # let orders = Tables::in_memory()?.repo::<Order>();
    /// # orders.create_table().await?;
    /// # orders.insert(&Order { shop: "a".into(), id: 1, shipped: true, cancelled: false }).await?;
    /// let cancel = orders.try_update(Order::partition("a").row().id(1), |order| {
    ///     if order.shipped {
    ///         return Err(CancelError::Shipped);
    ///     }
    ///     order.cancelled = true;
    ///     Ok(())
    /// });
    /// assert!(matches!(cancel.await, Err(CancelError::Shipped)));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// What `change` gives, and as `update`.
    pub fn try_update<'a, Q, X: From<Error>>(
        &self,
        key: Q,
        change: impl FnMut(&mut E) -> Result<(), X> + Send + 'a,
    ) -> Update<'a, E, X>
    where
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let (client, keys) = (self.client.clone(), key.into_keys());
        Update { client, keys, change: Box::new(change), attempts: MAX_ATTEMPTS }
    }

    /// Replaces the entity under the same canonical key, whatever its version. Returns its ETag.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn force_replace(&self, entity: &E) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            let canonical = <E::Canonical as Row>::INDEX;
            self.blind(entity, |rows| replace_all(rows, canonical, &IfMatch::Any))
        } else {
            self.over_stored(entity, OnExisting::Replace(None))
        }
    }

    /// Replaces the entity under the same canonical key if it still has that version: for an ETag
    /// that came from outside, such as the `If-Match` of an app's own client. What `load` gave is
    /// written by [`save`](Self::save), which may also change the canonical key. Returns the new
    /// ETag.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let mut note = Note { owner: "ann".into(), id: 1, text: "milk".into() };
    /// let etag = notes.insert(&note).await?;
    /// note.text = "bread".into();
    /// notes.replace(&note, &etag).await?;
    /// // The version is another one now.
    /// assert!(matches!(notes.replace(&note, &etag).await, Err(Error::Conflict(_))));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Conflict`] when it has another version; [`Error::NotFound`].
    pub fn replace(&self, entity: &E, etag: &ETag) -> Write<E> {
        if E::KEYS_FOLLOW_CANONICAL {
            let canonical = <E::Canonical as Row>::INDEX;
            let guard = IfMatch::ETag(etag.clone());
            self.blind(entity, |rows| replace_all(rows, canonical, &guard))
        } else {
            self.over_stored(entity, OnExisting::Replace(Some(etag.clone())))
        }
    }

    /// Deletes the entity under the canonical key of `entity`, whatever its version.
    ///
    /// One request, or a read and a guarded write, as [`upsert`](Self::upsert).
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn force_delete(&self, entity: &E) -> Write<E, ()> {
        if E::KEYS_FOLLOW_CANONICAL {
            let canonical = <E::Canonical as Row>::INDEX;
            self.blind(entity, |rows| delete_all(rows, canonical, &IfMatch::Any))
        } else {
            self.over_stored(entity, OnExisting::Delete)
        }
    }

    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since: one request that
    /// moves the index rows whose keys have changed and replaces those whose content has. Gives
    /// back what was passed, in its new version. Nothing is sent when nothing has changed.
    ///
    /// Of properties that `E` does not know none stays in the rows that are sent ([two versions at
    /// once](crate::guide::out_of_step#two-versions-at-once)); [`merge`](Self::merge) keeps them.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it was written since;
    /// [`Error::PartitionChanged`].
    pub fn save<'a, L: AsLoaded<E> + 'a>(&self, loaded: L) -> Save<'a, E, L> {
        Save { client: self.client.clone(), loaded, entity: PhantomData }
    }

    /// Deletes a loaded entity, if nobody has written it since: all of its rows in one request.
    ///
    /// # Errors
    /// [`Error::Conflict`] when it was written since;
    /// [`Error::NotFound`] when it is gone.
    pub fn delete(&self, loaded: Loaded<E>) -> Delete<E> {
        Delete { client: self.client.clone(), loaded }
    }

    /// Writes of several entities of one partition, of any types stored in this table, in one
    /// transaction. [`Tables::transaction`](crate::Tables::transaction) is the same for the derive's own table.
    pub fn transaction<'a, Q>(&self, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Transaction::new(self.client.clone(), partition)
    }

    /// Inserts many entities, several of one partition in a transaction. The input may be endless:
    /// it is read as it is needed. Sorted by partition it needs the fewest requests; in another order
    /// not many more, as long as [`OPEN_OPERATIONS`] rows hold many of each partition.
    pub fn insert_many<'a, I>(&self, entities: I) -> Bulk<'a, E, I::IntoIter>
    where
        I: IntoIterator<Item = E>,
    {
        let operations = |entity: &E| Ok(insert_all(EntityRows::of(entity)?));
        let policy = BatchPolicy { operations, alone: None };
        Bulk::new(self.client.clone(), entities.into_iter(), policy)
    }

    /// Inserts or replaces many entities: several of one partition in a transaction where
    /// [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL), else each by a read and a
    /// guarded write.
    ///
    /// An index key or a unique value that one entity of the input gives up and another takes over
    /// needs two calls, the giver's first. What an entity gives up is known when its stored rows are
    /// read, so that in one call the other may be written before it, and is refused then.
    pub fn upsert_many<'a, I>(&self, entities: I) -> Bulk<'a, E, I::IntoIter>
    where
        I: IntoIterator<Item = E>,
        E: 'static,
    {
        let policy = if E::KEYS_FOLLOW_CANONICAL {
            let operations = |entity: &E| Ok(upsert_all(EntityRows::of(entity)?));
            BatchPolicy { operations, alone: None }
        } else {
            let operations = |entity: &E| Ok(insert_all(EntityRows::of(entity)?));
            BatchPolicy { operations, alone: Some(write::upsert_alone) }
        };
        Bulk::new(self.client.clone(), entities.into_iter(), policy)
    }

    /// Deletes many loaded entities, each if nobody has written it since; several of one partition
    /// in a transaction.
    pub fn delete_many<'a, I>(&self, entities: I) -> Bulk<'a, Loaded<E>, I::IntoIter>
    where
        I: IntoIterator<Item = Loaded<E>>,
    {
        let policy = BatchPolicy { operations: Delete::<E>::prepare, alone: None };
        Bulk::new(self.client.clone(), entities.into_iter(), policy)
    }

    /// Deletes every entity of this type in a partition: reads its canonical rows page by page and
    /// deletes the entities of a page in as few transactions as they need.
    ///
    /// A row whose properties make another key, which `load` refuses, is deleted where it stands,
    /// with the index rows that its properties tell of. If it had others, they are orphans then,
    /// which [`verify`](Self::verify) finds and [`repair`](Self::repair) deletes.
    ///
    /// # Errors
    /// The first failure; what was deleted before it stays deleted, and the call can be made again.
    /// A row that cannot be read, which may be of another type, is one: delete it with the untyped
    /// calls of [`Tables::table`](crate::Tables::table), or keep it.
    pub async fn delete_partition<Q>(&self, partition: Q) -> Result<BulkProgress>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
        E: 'static,
    {
        let partition = partition.into_keys()?.partition;
        delete_partition::delete_partition::<E>(&self.client, partition).await
    }

    fn blind<T>(&self, entity: &E, operations: impl FnOnce(EntityRows) -> Batch) -> Write<E, T> {
        let change = EntityRows::of(entity).map(|rows| Change::Blind(operations(rows)));
        self.write(change)
    }

    fn over_stored<T>(&self, entity: &E, on_existing: OnExisting) -> Write<E, T> {
        let change = EntityRows::of(entity).map(|rows| Change::OverStored { rows, on_existing });
        self.write(change)
    }

    fn write<T>(&self, change: Result<Change, Invalid>) -> Write<E, T> {
        let client = self.client.clone();
        Write { client, change, attempts: MAX_ATTEMPTS, entity: PhantomData }
    }
}
