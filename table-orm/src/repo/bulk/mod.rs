//! Writes of many entities: chunked into entity group transactions, several under way at a time.
//!
//! Invariants: the rows of one entity are never in two transactions; two entities that have a row
//! in common are written in the order given, the second when the first is answered; an entity is in
//! the report as written, as failed, or in the remainder, and in one of them only; besides those that
//! failed, no more entities are in memory at a time than have [`OPEN_OPERATIONS`] operations of
//! [`OPEN_BYTES`] bytes and fill twice `parallelism` transactions, however long the input is and however
//! many its partitions.

mod chunk;
mod open;
mod report;
mod run;

pub(super) use chunk::Chunk;
pub use open::{OPEN_BYTES, OPEN_OPERATIONS};
pub use report::{BulkFailure, BulkProgress, BulkReport, Remainder};

use super::Repo;
use super::save::Delete;
use super::write::{send_upsert, upsert_over_stored};
use crate::entity::{EntityRows, Loaded, TableEntity};
use crate::error::Result;
use crate::plan::{OptimisticWrite, Plan, TableClient, insert_all, upsert_all};
use crate::store::Batch;
use futures_core::future::BoxFuture;
use run::BulkRun;
use std::fmt;

impl<E: TableEntity> Repo<E> {
    /// Inserts many entities, several of one partition in a transaction. The input may be endless:
    /// it is read as it is needed. Sorted by partition it needs the fewest requests; in another order
    /// not many more, as long as [`OPEN_OPERATIONS`] rows hold many of each partition.
    pub fn insert_many<'a, I>(&self, entities: I) -> Bulk<'a, E, I::IntoIter>
    where
        I: IntoIterator<Item = E>,
    {
        let operations = |entity: &E| Ok(insert_all(EntityRows::of(entity)?));
        Bulk::new(self.client.clone(), entities.into_iter(), BatchPolicy::shared(operations))
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
            BatchPolicy::shared(operations)
        } else {
            let operations = |entity: &E| Ok(insert_all(EntityRows::of(entity)?));
            let individually = Individually { write: upsert_over_stored, send: send_upsert };
            BatchPolicy { operations, individually: Some(individually) }
        };
        Bulk::new(self.client.clone(), entities.into_iter(), policy)
    }

    /// Deletes many loaded entities, each if nobody has written it since; several of one partition
    /// in a transaction.
    pub fn delete_many<'a, I>(&self, entities: I) -> Bulk<'a, Loaded<E>, I::IntoIter>
    where
        I: IntoIterator<Item = Loaded<E>>,
    {
        let policy = BatchPolicy::shared(Delete::<E>::prepare);
        Bulk::new(self.client.clone(), entities.into_iter(), policy)
    }
}

/// How many transactions are under way at a time, unless told otherwise.
pub const DEFAULT_PARALLELISM: usize = 16;

/// A write of many entities: `.await` sends it.
///
/// Entities of one partition go together, up to 100 operations and 4 MiB a transaction. Entities
/// that have a row in common are written in the order given; others may overtake each other.
///
/// The input is read as it is needed. What waits for others of its partition has at most
/// [`OPEN_OPERATIONS`] operations of [`OPEN_BYTES`] bytes; beyond that, the fullest transaction is
/// sent as it is. So input that is sorted by partition needs the fewest requests. Rows that come in
/// turn from `n` partitions go at least 6,400 / `n` at a time, and mostly twice as many.
#[must_use = "nothing is sent until this is awaited"]
pub struct Bulk<'a, E, I> {
    client: TableClient,
    input: I,
    policy: BatchPolicy<E>,
    parallelism: usize,
    continues: bool,
    progress: Option<Box<dyn FnMut(BulkProgress) + Send + 'a>>,
}

/// How entities share transactions.
pub(super) struct BatchPolicy<E> {
    /// The operations that write an entity; of one that is sent individually, at least those on its
    /// rows.
    pub operations: fn(&E) -> Result<Batch>,
    /// How each entity is sent by itself, where its operations depend on what is stored.
    pub individually: Option<Individually<E>>,
}

/// A write that reads first, as one of many.
pub(super) struct Individually<E> {
    /// What it will send.
    pub write: fn(&TableClient, &E) -> Result<OptimisticWrite>,
    /// Sends that, and gives the entity back with the answer.
    pub send: fn(TableClient, E) -> BoxFuture<'static, Answered<E>>,
}

/// An entity and the answer to its write.
type Answered<E> = (E, Result<()>);

impl<E> BatchPolicy<E> {
    /// Entities of one partition share a transaction.
    pub fn shared(operations: fn(&E) -> Result<Batch>) -> Self {
        Self { operations, individually: None }
    }
}

impl<E, I> fmt::Debug for Bulk<'_, E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<'a, E, I> Bulk<'a, E, I> {
    pub(super) fn new(client: TableClient, input: I, policy: BatchPolicy<E>) -> Self {
        let parallelism = DEFAULT_PARALLELISM;
        Self { client, input, policy, parallelism, continues: false, progress: None }
    }

    /// Has at most `requests` transactions under way at a time; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }

    /// Goes on after an entity that the store or a limit refuses: it is reported, and the others of
    /// its transaction are sent without it. What would meet the next entity too still ends the
    /// write: a store that is throttling, gives no usable answer or does not know the credential, a
    /// table that is not there.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32 }
    /// # async fn run() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # readings.insert(&Reading { sensor: "roof".into(), minute: 5 }).await?;
    /// let day = (0..1440).map(|minute| Reading { sensor: "roof".into(), minute });
    /// let report = readings.insert_many(day).continue_on_failure().await;
    /// assert_eq!((report.written.entities, report.failures.len()), (1439, 1));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
    /// ```
    pub fn continue_on_failure(mut self) -> Self {
        self.continues = true;
        self
    }

    /// Calls `progress` after each answer.
    pub fn on_progress(mut self, progress: impl FnMut(BulkProgress) + Send + 'a) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl<E: Send + 'static, I: Iterator<Item = E>> Bulk<'_, E, I> {
    /// What it will send, in no certain order; reads the whole input, and sends nothing.
    ///
    /// # Errors
    /// The first entity that the service would refuse.
    pub fn plan(self) -> Result<Plan> {
        BulkRun::new(self).plan()
    }
}

impl<'a, E, I> IntoFuture for Bulk<'a, E, I>
where
    E: Send + 'static,
    I: Iterator<Item = E> + Send + 'a,
{
    type Output = BulkReport<E, I>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let run = BulkRun::new(self);
        Box::pin(run.run())
    }
}
