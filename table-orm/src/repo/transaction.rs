//! Writes of several entities of one partition in one entity group transaction.
//!
//! Invariants: all operations are of one table and one partition; no two operations write the same row;
//! there are at most 100. A transaction that breaks a rule sends nothing.

use super::Repo;
use super::merge::Merge;
use super::patch::EntityPatch;
use super::save::{Delete, prepare};
use crate::entity::{
    AsLoaded, CanonicalKeyOf, CompleteKey, EntityRows, Loaded, Row, RowOf, TableEntity,
    WholePartition,
};
use crate::error::{Error, Result, TransactionError};
use crate::model::{ETag, MAX_TRANSACTION_OPERATIONS};
use crate::plan::{EntityContext, Plan, Step, TableClient, insert_all, merge_all, upsert_all};
use crate::query::Span;
use crate::store::Batch;
use std::fmt;
use std::ops::Range;

impl<E: TableEntity> Repo<E> {
    /// Starts a transaction: writes of several entities of one partition, of any types stored in this table.
    ///
    /// [`Tables::transaction`](crate::Tables::transaction) does the same for the table that the derive names.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// let track = |number, title: &str| Track { album: "Blue".into(), number, title: title.into() };
    /// let blue = tracks.transaction(Track::partition("Blue"));
    /// let etags = blue.insert(&track(1, "All I Want")).insert(&track(2, "My Old Man")).commit().await?;
    /// assert_eq!(etags.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction<'a, Q>(&self, partition: Q) -> Transaction<'a>
    where
        Q: WholePartition,
        Q::Row: RowOf<E>,
    {
        Transaction::new(self.client.clone(), partition)
    }
}

/// Writes of several entities that take effect together or not at all: one request.
///
/// Each call adds the rows of one entity. If a call breaks a rule, [`commit`](Self::commit) and
/// [`plan`](Self::plan) fail with the first such error. The service takes at most 100 operations and
/// 4 MiB in one transaction; an entity needs one operation for each of its rows and guard rows.
///
/// ```
/// use table_orm::{TableEntity, Tables};
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "offices", partition = "{office}", row = "EMP:{id:05}")]
/// struct Employee { office: String, id: u32, name: String }
///
/// #[derive(Debug, Clone, PartialEq, TableEntity)]
/// #[table(name = "offices", partition = "{office}", row = "OFFICE")]
/// struct Office { office: String, employees: u32 }
///
/// # async fn run() -> table_orm::Result<()> {
/// let tables = Tables::in_memory()?;
/// let offices = tables.repo::<Office>();
/// offices.create_table().await?;
/// offices.insert(&Office { office: "Oslo".into(), employees: 0 }).await?;
///
/// let oslo = Office::partition("Oslo");
/// let mut office = offices.load(oslo.row()).await?.one()?;
/// let ann = Employee { office: "Oslo".into(), id: 1, name: "Ann".into() };
/// office.employees += 1;
/// let etags = tables.transaction(&oslo).insert(&ann).save(&mut office).commit().await?;
/// assert_eq!(etags[1].as_ref(), Some(office.etag()));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
/// ```
#[must_use = "nothing is sent until `commit`"]
pub struct Transaction<'a> {
    client: TableClient,
    /// The table that the derive of the entities names. The entities may be stored in another one.
    table: &'static str,
    batch: Batch,
    members: Vec<Member<'a>>,
    /// Whether the row keys ascend, as they mostly do. Otherwise each new one is compared with all.
    ascends: bool,
    error: Option<Error>,
}

/// One entity of a transaction.
struct Member<'a> {
    context: EntityContext,
    operations: Range<usize>,
    /// The operation that returns its new version. Without one, the version that the entity keeps.
    version: Result<usize, Option<ETag>>,
    /// Stores the new version in a loaded entity.
    written: Option<Box<dyn FnOnce(ETag) + Send + 'a>>,
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entities: Vec<_> = self.members.iter().map(|member| member.context.entity).collect();
        f.debug_struct("Transaction")
            .field("batch", &self.batch)
            .field("entities", &entities)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

impl<'a> Transaction<'a> {
    /// An empty transaction of that partition.
    pub(crate) fn new<Q>(client: TableClient, partition: Q) -> Self
    where
        Q: WholePartition,
    {
        let mut error = None;
        let partition_key = match partition.into_keys() {
            Ok(keys) => match keys.partition {
                Span::Exact(key) => key,
                _ => String::new(),
            },
            Err(rejected) => {
                error = Some(rejected.into());
                String::new()
            }
        };
        // Each operation has a context of its own.
        let client =
            TableClient { context: EntityContext::untyped(client.context.entity), ..client };
        Self {
            client,
            table: <Q::Row as Row>::Entity::TABLE,
            batch: Batch { partition_key, operations: Vec::new() },
            members: Vec::new(),
            ascends: true,
            error,
        }
    }

    /// Inserts an entity. No row of it may exist.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// let track = Track { album: "Blue".into(), number: 1, title: "All I Want".into() };
    /// let blue = Track::partition("Blue");
    /// tracks.transaction(&blue).insert(&track).commit().await?;
    /// let again = tracks.transaction(&blue).insert(&track).commit().await;
    /// assert!(matches!(again, Err(Error::AlreadyExists(_))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert<E: TableEntity>(mut self, entity: &E) -> Self {
        self.push_rows(entity, insert_all);
        self
    }

    /// Inserts an entity, or replaces the one under its canonical key.
    ///
    /// The type must have [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL). Otherwise the
    /// transaction fails with [`TransactionError::NotBlind`], because the rows to remove are unknown without a
    /// read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
    /// # struct Invoice { customer: String, number: u32, cents: u32, paid: bool }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let invoices = Tables::in_memory()?.repo::<Invoice>();
    /// # invoices.create_table().await?;
    /// let invoice = |number, paid| Invoice { customer: "acme".into(), number, cents: 900, paid };
    /// let acme = Invoice::partition("acme");
    /// invoices.insert(&invoice(1, false)).await?;
    /// let paid = invoices.transaction(&acme).upsert(&invoice(1, true)).upsert(&invoice(2, true));
    /// paid.commit().await?;
    /// assert_eq!(invoices.list(&acme).filter(|row| row.paid.eq(true)).count().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn upsert<E: TableEntity>(mut self, entity: &E) -> Self {
        self.push_blind(entity, upsert_all);
        self
    }

    /// Inserts an entity, or sets its properties in the one under its canonical key.
    ///
    /// The type must have [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL). Otherwise the
    /// transaction fails with [`TransactionError::NotBlind`], because the rows to remove are unknown without a
    /// read.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "profiles", partition = "{team}", row = "{name}")]
    /// # struct Profile { #[table(key_only)] team: String, #[table(key_only)] name: String, mail: Option<String>, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let profiles = Tables::in_memory()?.repo::<Profile>();
    /// # profiles.create_table().await?;
    /// let ann = Profile { team: "red".into(), name: "ann".into(), mail: None, city: Some("Oslo".into()) };
    /// let red = Profile::partition("red");
    /// profiles.insert(&Profile { mail: Some("ann@example.org".into()), ..ann.clone() }).await?;
    /// profiles.transaction(&red).insert_or_merge(&ann).commit().await?;
    /// assert!(profiles.list(&red).one().await?.mail.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_or_merge<E: TableEntity>(mut self, entity: &E) -> Self {
        self.push_blind(entity, merge_all);
        self
    }

    /// Sets the properties of a patch in the entity under a canonical key. The entity must exist.
    ///
    /// The type must have [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW). Otherwise the transaction fails
    /// with [`TransactionError::NotBlind`].
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "profiles", partition = "{team}", row = "{name}")]
    /// # struct Profile { #[table(key_only)] team: String, #[table(key_only)] name: String, mail: Option<String>, city: Option<String> }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let profiles = Tables::in_memory()?.repo::<Profile>();
    /// # profiles.create_table().await?;
    /// let ann = Profile { team: "red".into(), name: "ann".into(), mail: None, city: None };
    /// profiles.insert(&ann).await?;
    /// let red = Profile::partition("red");
    /// let move_out = ProfilePatch::default().city("Rome".to_owned());
    /// profiles.transaction(&red).merge(red.row().name("ann"), move_out).commit().await?;
    /// assert_eq!(profiles.list(&red).one().await?.city.as_deref(), Some("Rome"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn merge<E, Q>(mut self, key: Q, patch: impl EntityPatch<E>) -> Self
    where
        E: TableEntity,
        Q: CompleteKey + CanonicalKeyOf<E>,
    {
        let (client, patch) = (self.client.clone(), patch.into_patch());
        let merge = Merge::new(client, key.into_keys(), patch);
        match merge.key().and_then(|key| merge.one_row(&key)) {
            _ if !E::PATCHES_ONE_ROW => self.fail(TransactionError::NotBlind(E::NAME)),
            Ok(batch) => self.push::<E>(batch, Ok(0), None),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since. An entity behind `&mut` gets
    /// its new version when the transaction is committed.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "stock", partition = "{shop}", row = "{sku}")]
    /// # struct Item { shop: String, sku: String, count: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let stock = Tables::in_memory()?.repo::<Item>();
    /// # stock.create_table().await?;
    /// # for (sku, count) in [("tea", 3), ("mint", 0)] {
    /// #     stock.insert(&Item { shop: "north".into(), sku: sku.into(), count }).await?;
    /// # }
    /// let north = Item::partition("north");
    /// let mut tea = stock.load(north.row().sku("tea")).await?.one()?;
    /// let mut mint = stock.load(north.row().sku("mint")).await?.one()?;
    /// (tea.count, mint.count) = (2, 1);
    /// stock.transaction(&north).save(&mut tea).save(&mut mint).commit().await?;
    /// assert_eq!(stock.get(north.row().sku("mint")).await?.map(|mint| mint.count), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn save<E: TableEntity + 'a>(mut self, mut loaded: impl AsLoaded<E> + Send + 'a) -> Self {
        match prepare(loaded.loaded()) {
            Ok((batch, rows)) => {
                let row = rows.canonical().cloned();
                let written = row.as_ref().and_then(|row| batch.last_on(&row.row_key));
                let version = written.ok_or_else(|| Some(loaded.loaded().etag().clone()));
                let take_over = move |etag| {
                    if let Some(row) = row {
                        loaded.loaded_mut().written(row.body, etag);
                    }
                };
                self.push::<E>(batch, version, Some(Box::new(take_over)));
            }
            Err(error) => self.fail(error),
        }
        self
    }

    /// Deletes a loaded entity if nobody has written it since.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "tracks", partition = "{album}", row = "{number:02}")]
    /// # struct Track { album: String, number: u8, title: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let tracks = Tables::in_memory()?.repo::<Track>();
    /// # tracks.create_table().await?;
    /// # tracks.insert(&Track { album: "Blue".into(), number: 1, title: "Carey".into() }).await?;
    /// let blue = Track::partition("Blue");
    /// let track = tracks.load(&blue).await?.one()?;
    /// // Moves the track to another number: both writes, or no write.
    /// let moved = Track { number: 2, ..(*track).clone() };
    /// tracks.transaction(&blue).delete(track).insert(&moved).commit().await?;
    /// assert_eq!(tracks.list(&blue).one().await?, moved);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete<E: TableEntity>(mut self, loaded: Loaded<E>) -> Self {
        match Delete::prepare(&loaded) {
            Ok(batch) => self.push::<E>(batch, Err(None), None),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Returns what it will send, without sending it.
    ///
    /// # Errors
    /// As [`commit`](Self::commit) before it sends anything, except for the size in bytes, which only the
    /// store knows.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let note = |id| Note { owner: "ann".into(), id, text: "milk".into() };
    /// let ann = notes.transaction(Note::partition("ann")).insert(&note(1)).insert(&note(2));
    /// assert!(ann.plan()?.to_string().starts_with("entity group transaction on `notes`"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn plan(self) -> Result<Plan> {
        let Self { client, batch, error, .. } = self;
        match error {
            Some(error) => Err(error),
            None => Ok(Step::write(client.table.clone(), batch).into()),
        }
    }

    /// Sends the transaction: one request. Returns the ETag of each entity in the order of the calls, `None`
    /// after a delete.
    ///
    /// # Errors
    /// - [`Error::Transaction`] when the calls break a rule, the error of a key or property that the service
    ///   would reject, and [`Error::TooLarge`] for more than 4 MiB. Nothing is sent.
    /// - The store's error, such as [`Error::Conflict`], [`Error::AlreadyExists`] or
    ///   [`Error::UniqueViolation`], with the entity, the row and the operation that failed. Nothing is
    ///   written.
    ///
    /// ```
    /// # use table_orm::{Error, TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "notes", partition = "{owner}", row = "{id:05}")]
    /// # struct Note { owner: String, id: u32, text: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let notes = Tables::in_memory()?.repo::<Note>();
    /// # notes.create_table().await?;
    /// let note = |id| Note { owner: "ann".into(), id, text: "milk".into() };
    /// let ann = Note::partition("ann");
    /// notes.insert(&note(2)).await?;
    /// let both = notes.transaction(&ann).insert(&note(1)).insert(&note(2)).commit().await;
    /// assert!(matches!(both, Err(Error::AlreadyExists(_))));
    /// // The first note was not written either.
    /// assert_eq!(notes.list(&ann).count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        let Self { client, batch, members, error, .. } = self;
        if let Some(error) = error {
            return Err(error);
        }
        let sent = match batch.operations.len() {
            0 => Ok(Vec::new()),
            // Only canonical rows are deleted under their ETag.
            _ => client.send_changes(batch, "").await,
        };
        let mut etags = sent.map_err(|error| {
            let failed = error.rejection().and_then(|rejection| rejection.operation);
            let context = failed.and_then(|(index, _)| {
                members.iter().find(|member| member.operations.contains(&index))
            });
            match context {
                Some(member) => member.context.attribute(error),
                None => error,
            }
        })?;
        let committed = members.into_iter().map(|member| match member.version {
            Ok(index) => {
                let etag = etags.get_mut(member.operations.start + index).and_then(Option::take);
                if let (Some(written), Some(etag)) = (member.written, &etag) {
                    written(etag.clone());
                }
                etag
            }
            Err(kept) => kept,
        });
        Ok(committed.collect())
    }

    /// Adds a write that reads nothing, where the canonical key determines all row keys.
    fn push_blind<E: TableEntity>(&mut self, entity: &E, operations: fn(EntityRows) -> Batch) {
        if !E::KEYS_FOLLOW_CANONICAL {
            return self.fail(TransactionError::NotBlind(E::NAME));
        }
        self.push_rows(entity, operations);
    }

    fn push_rows<E: TableEntity>(&mut self, entity: &E, operations: fn(EntityRows) -> Batch) {
        match EntityRows::of(entity) {
            // The canonical row comes first.
            Ok(rows) => self.push::<E>(operations(rows), Ok(0), None),
            Err(invalid) => self.fail(invalid),
        }
    }

    /// Adds the operations of an entity. `version` counts among them.
    fn push<E: TableEntity>(
        &mut self,
        new: Batch,
        version: Result<usize, Option<ETag>>,
        written: Option<Box<dyn FnOnce(ETag) + Send + 'a>>,
    ) {
        if !E::TABLE.eq_ignore_ascii_case(self.table) {
            let (expected, found) = (self.table, E::TABLE);
            return self.fail(TransactionError::OtherTable { entity: E::NAME, expected, found });
        }
        if new.partition_key != self.batch.partition_key {
            let expected = self.batch.partition_key.clone();
            let found = new.partition_key;
            return self.fail(TransactionError::OtherPartition {
                entity: E::NAME,
                expected,
                found,
            });
        }
        let here = &mut self.batch.operations;
        let last_and_new = here.last().into_iter().chain(&new.operations);
        self.ascends &= last_and_new.is_sorted_by(|one, next| one.row_key < next.row_key);
        if !self.ascends {
            let twice = new
                .operations
                .iter()
                .find(|new| here.iter().any(|old| old.row_key == new.row_key))
                .map(|twice| twice.row_key.clone());
            if let Some(row_key) = twice {
                return self.fail(TransactionError::SameRow { entity: E::NAME, row_key });
            }
        }
        let start = here.len();
        here.extend(new.operations);
        let end = here.len();
        let context = EntityContext::of::<E>();
        self.members.push(Member { context, operations: start..end, version, written });
        if end > MAX_TRANSACTION_OPERATIONS {
            self.fail(TransactionError::TooManyOperations(end));
        }
    }

    fn fail(&mut self, error: impl Into<Error>) {
        // The last count of too many operations is the number of all.
        let error = error.into();
        let counted = |error: &Error| {
            matches!(error, Error::Transaction(TransactionError::TooManyOperations(_)))
        };
        if self.error.is_none() || self.error.as_ref().is_some_and(counted) && counted(&error) {
            self.error = Some(error);
        }
    }
}
