//! The calls that write many entities, and the settings of such a call.

use super::policy::{BatchPolicy, Individually};
use super::report::BulkProgress;
use crate::entity::{EntityRows, Loaded, TableEntity};
use crate::plan::{TableClient, insert_all, upsert_all};
use crate::repo::Repo;
use crate::repo::save::Delete;
use crate::repo::write::{send_upsert, upsert_over_stored};
use std::fmt;

#[cfg(doc)]
use super::{OPEN_BYTES, OPEN_OPERATIONS};

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
    pub(super) client: TableClient,
    pub(super) input: I,
    pub(super) policy: BatchPolicy<E>,
    pub(super) parallelism: usize,
    pub(super) continues: bool,
    pub(super) progress: Option<Box<dyn FnMut(BulkProgress) + Send + 'a>>,
}

impl<E, I> fmt::Debug for Bulk<'_, E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("client", &self.client).finish_non_exhaustive()
    }
}

impl<'a, E, I> Bulk<'a, E, I> {
    pub(in crate::repo) fn new(client: TableClient, input: I, policy: BatchPolicy<E>) -> Self {
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
