//! Several entities of one partition, of one type or more, in one entity group transaction.
//!
//! Invariants: all operations are of one table and one partition, no row stands in two of them,
//! and there are at most 100; a unit that breaks a rule sends nothing.

use super::Repo;
use super::merge::Merge;
use super::patch::EntityPatch;
use super::save::{Delete, prepare};
use crate::entity::{
    AsLoaded, CanonicalKeyOf, CompleteKey, EntityRows, Invalid, Loaded, Row, RowOf, TableEntity,
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
    /// Writes of several entities of one partition, of any types stored in this table, in one
    /// transaction. [`Tables::transaction`](crate::Tables::transaction) is the same for the derive's own table.
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
/// Each call adds the rows of one entity. The first that breaks a rule is kept, and is the error of
/// [`commit`](Self::commit) or [`plan`](Self::plan). One unit takes 100 operations and 4 MiB, the
/// service's limits; an entity takes an operation for each of its rows and guard rows.
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
    /// The table's name in the derive of its entities, which may be stored in another.
    table: &'static str,
    batch: Batch,
    members: Vec<Member<'a>>,
    /// Whether the row keys ascend, as they mostly do. Else each new one is sought among them.
    ascends: bool,
    error: Option<Error>,
}

/// One entity of a unit.
struct Member<'a> {
    context: EntityContext,
    operations: Range<usize>,
    /// The operation that gives its version; for none, the version it keeps.
    version: Result<usize, Option<ETag>>,
    /// Lets a loaded entity take over its version.
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
    /// A unit of that partition.
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
            Err(refused) => {
                error = Some(refused.into());
                String::new()
            }
        };
        // Each operation has an context of its own.
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

    /// Inserts an entity: none of its rows may be there.
    pub fn insert<E: TableEntity>(mut self, entity: &E) -> Self {
        self.push_rows::<E>(EntityRows::of(entity), insert_all);
        self
    }

    /// Inserts an entity, or replaces the one under its canonical key.
    ///
    /// Only where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL); else
    /// [`TransactionError::NotBlind`].
    pub fn upsert<E: TableEntity>(mut self, entity: &E) -> Self {
        self.push_blind::<E>(E::KEYS_FOLLOW_CANONICAL, entity, upsert_all);
        self
    }

    /// Inserts an entity, or sets its properties in the one under its canonical key.
    ///
    /// Only where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL); else
    /// [`TransactionError::NotBlind`].
    pub fn insert_or_merge<E: TableEntity>(mut self, entity: &E) -> Self {
        self.push_blind::<E>(E::KEYS_FOLLOW_CANONICAL, entity, merge_all);
        self
    }

    /// Sets the properties of a patch in the entity under a canonical key, which must be there.
    ///
    /// Only where [`PATCHES_ONE_ROW`](TableEntity::PATCHES_ONE_ROW); else
    /// [`TransactionError::NotBlind`].
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

    /// Saves a loaded entity, or `&mut` of one, if nobody has written it since. A reference has
    /// its new version when the unit is committed.
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

    /// Deletes a loaded entity, if nobody has written it since.
    pub fn delete<E: TableEntity>(mut self, loaded: Loaded<E>) -> Self {
        match Delete::prepare(&loaded) {
            Ok(batch) => self.push::<E>(batch, Err(None), None),
            Err(error) => self.fail(error),
        }
        self
    }

    /// What it will send.
    ///
    /// # Errors
    /// What [`commit`](Self::commit) would refuse before it sends anything, but for the size in
    /// bytes, of which the store knows.
    pub fn plan(self) -> Result<Plan> {
        let Self { client, batch, error, .. } = self;
        match error {
            Some(error) => Err(error),
            None => Ok(Step::write(client.table.clone(), batch).into()),
        }
    }

    /// Sends it. Gives the ETag of each entity in the order of the calls, `None` after a delete.
    ///
    /// # Errors
    /// The first rule that was broken, [`Error::Transaction`] or an invalid value; [`Error::TooLarge`] for
    /// more than 4 MiB: nothing was sent. What the store refused, as [`Error::Conflict`],
    /// [`Error::AlreadyExists`] or [`Error::UniqueViolation`], with the entity, the row and the
    /// operation that failed: nothing was written.
    pub async fn commit(self) -> Result<Vec<Option<ETag>>> {
        let Self { client, batch, members, error, .. } = self;
        if let Some(error) = error {
            return Err(error);
        }
        let sent = match batch.operations.len() {
            0 => Ok(Vec::new()),
            // A canonical row is deleted under its ETag, which no index row is.
            _ => client.send_changes(batch, "").await,
        };
        let mut etags = sent.map_err(|error| {
            let failed = error.refusal().and_then(|refusal| refusal.operation);
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

    fn push_blind<E: TableEntity>(
        &mut self,
        blind: bool,
        entity: &E,
        operations: impl FnOnce(EntityRows) -> Batch,
    ) {
        if !blind {
            return self.fail(TransactionError::NotBlind(E::NAME));
        }
        self.push_rows::<E>(EntityRows::of(entity), operations);
    }

    fn push_rows<E: TableEntity>(
        &mut self,
        rows: Result<EntityRows, Invalid>,
        operations: impl FnOnce(EntityRows) -> Batch,
    ) {
        match rows {
            // The canonical row comes first.
            Ok(rows) => self.push::<E>(operations(rows), Ok(0), None),
            Err(invalid) => self.fail(Error::from(invalid)),
        }
    }

    /// Adds an entity's operations; `version` is counted among them.
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
        // Of too many operations, the last count is the whole.
        let error = error.into();
        let counted = |error: &Error| {
            matches!(error, Error::Transaction(TransactionError::TooManyOperations(_)))
        };
        if self.error.is_none() || self.error.as_ref().is_some_and(counted) && counted(&error) {
            self.error = Some(error);
        }
    }
}
