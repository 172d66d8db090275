//! The calls that write many entities, and their settings.

use super::policy::BatchPolicy;
use super::report::BulkProgress;
use super::source::IntoSource;
use crate::entity::{Loaded, TableEntity};
use crate::eventual::{Settling, delete_batch};
use crate::plan::TableClient;
use crate::repo::Repo;
use std::fmt;

#[cfg(doc)]
use super::{OPEN_BYTES, OPEN_OPERATIONS};

impl<E: TableEntity> Repo<E> {
    /// Inserts many entities: transactions of one partition, at most 100 operations and 4 MiB each.
    ///
    /// The input is an iterator or a `Stream`. It is read as it is needed, so it may be endless. Input sorted
    /// by partition needs the fewest requests. Unsorted input needs only a few more, as long as any
    /// [`OPEN_OPERATIONS`] rows on end have many rows of each partition.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// let day = (0..1440).map(|minute| Reading { sensor: "roof".into(), minute, celsius: 20.0 });
    /// let written = readings.insert_many(day).await.all()?;
    /// assert_eq!((written.entities, written.requests), (1440, 15));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The report lists entities that were not written; entities written before a failure are kept.
    ///
    /// An entity waits until its transaction is full or the input ends. For entities that arrive over time, use
    /// [`writer`](Self::writer).
    ///
    /// ```
    /// # use futures_util::{StreamExt as _, stream};
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// let minutes = stream::iter(0..1440); // such as the rows of another database
    /// let day = minutes.map(|minute| Reading { sensor: "roof".into(), minute, celsius: 20.0 });
    /// assert_eq!(readings.insert_many(day).await.all()?.entities, 1440);
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_many<'a, I, K>(&self, entities: I) -> Bulk<'a, E, I::Source>
    where
        I: IntoSource<E, K>,
    {
        Bulk::new(self.client.clone(), entities.into_source(), BatchPolicy::insert())
    }

    /// Inserts or replaces many entities.
    ///
    /// Where [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL), the entities of one partition share
    /// transactions. Otherwise each entity costs a read and a guarded write.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// let reading = |minute, celsius| Reading { sensor: "roof".into(), minute, celsius };
    /// readings.insert(&reading(1, 19.0)).await?;
    /// let written = readings.upsert_many((0..3).map(|minute| reading(minute, 20.0))).await.all()?;
    /// assert_eq!((written.entities, written.requests), (3, 1));
    /// let stored = readings.get(Reading::partition("roof").row().minute(1)).await?;
    /// assert_eq!(stored.map(|reading| reading.celsius), Some(20.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Use two calls when one entity releases an index key or a unique value that another one takes over, and
    /// write the first one first. A single call may write the taker first, and the store then rejects it.
    pub fn upsert_many<'a, I, K>(&self, entities: I) -> Bulk<'a, E, I::Source>
    where
        I: IntoSource<E, K>,
        E: 'static,
    {
        Bulk::new(self.client.clone(), entities.into_source(), BatchPolicy::upsert())
    }

    /// Deletes many loaded entities, each if nobody has written it since. The entities of one partition share
    /// transactions.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{minute:06}")]
    /// # struct Reading { sensor: String, minute: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # for minute in 0..5 {
    /// #     readings.insert(&Reading { sensor: "roof".into(), minute, celsius: 20.0 }).await?;
    /// # }
    /// let roof = Reading::partition("roof");
    /// let old = readings.load(roof.row().minute_in(..3)).await?;
    /// let deleted = readings.delete_many(old).await.all()?;
    /// assert_eq!((deleted.entities, deleted.requests), (3, 1));
    /// assert_eq!(readings.list(&roof).count().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete_many<'a, I, K>(&self, entities: I) -> Bulk<'a, Loaded<E>, I::Source>
    where
        I: IntoSource<Loaded<E>, K>,
    {
        let policy = BatchPolicy::shared(|loaded| Ok(delete_batch::<E>(loaded)?));
        let policy =
            policy.due::<E>(|client, loaded, intents| intents.add_loaded(client, loaded, None));
        Bulk::new(self.client.clone(), entities.into_source(), policy)
    }
}

/// The number of transactions in flight, unless the call sets another one.
pub const DEFAULT_PARALLELISM: usize = 16;

/// A write of many entities: `.await` sends it and returns a [`BulkReport`](super::BulkReport).
///
/// Entities of one partition share transactions of at most 100 operations and 4 MiB. Entities that have a
/// row in common are written in the order of the input; others may be written in any order.
///
/// Reads the input as it is needed. At most [`OPEN_OPERATIONS`] operations of [`OPEN_BYTES`] bytes wait for
/// others of their partition; beyond that, the fullest transaction is sent as it is. So input sorted by
/// partition needs the fewest requests. If rows alternate between `n` partitions, a transaction has at
/// least 6,400 / `n` rows, and mostly twice as many.
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
/// let album = |album: &str| {
///     let album = album.to_owned();
///     (1..=10).map(move |number| Track { album: album.clone(), number, title: "-".into() })
/// };
/// let written = tracks.insert_many(album("Blue").chain(album("Hejira"))).parallelism(2).await.all()?;
/// assert_eq!((written.entities, written.requests), (20, 2));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent until this is awaited"]
pub struct Bulk<'a, E, I> {
    pub(super) settings: Settings<'a, E>,
    pub(super) input: I,
}

/// A bulk write without its input.
pub(super) struct Settings<'a, E> {
    pub(super) client: TableClient,
    pub(super) policy: BatchPolicy<E>,
    pub(super) parallelism: usize,
    pub(super) continues: bool,
    pub(super) settling: Settling,
    pub(super) progress: Option<Box<dyn FnMut(BulkProgress) + Send + 'a>>,
}

impl<E, I> fmt::Debug for Bulk<'_, E, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("client", &self.settings.client).finish_non_exhaustive()
    }
}

impl<'a, E, I> Bulk<'a, E, I> {
    pub(in crate::repo) fn new(client: TableClient, input: I, policy: BatchPolicy<E>) -> Self {
        let parallelism = DEFAULT_PARALLELISM;
        let settling = Settling::default();
        let (continues, progress) = (false, None);
        let settings = Settings { client, policy, parallelism, continues, settling, progress };
        Self { settings, input }
    }

    /// Sets the most transactions in flight; 0 counts as 1.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.settings.parallelism = requests.max(1);
        self
    }

    /// Continues after an entity that the store or a limit rejects: reports it, and sends the others
    /// of its transaction without it.
    ///
    /// A failure that would hit the next entity too still ends the write: the store throttles, returns
    /// no usable answer or rejects the credential, or the table does not exist.
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
        self.settings.continues = true;
        self
    }

    /// Returns without waiting until the rows in other partitions are in step: the rest is settled in the
    /// background. Without this setting, the call waits for it.
    ///
    /// A bulk write settles the entities of several transactions together: up to 1,000 of a partition, or
    /// earlier when 10,000 rows wait. Each settling counts as one of the [transactions in
    /// flight](Self::parallelism), so the write goes no faster than the rows can follow. With `settle_later`, a
    /// settling in the background does not count. At most 64 of one [`Tables`](crate::Tables) and its clones
    /// run there at a time.
    ///
    /// When the call is dropped, what it wrote is settled in the background, too.
    ///
    /// A type without `eventual` rows, sums over partitions and `unique(.., across)` has nothing to settle.
    pub fn settle_later(mut self) -> Self {
        self.settings.settling.later = true;
        self
    }

    /// Calls `progress` after each answer.
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
    /// let mut last = 0;
    /// let blue = (1..=10).map(|number| Track { album: "Blue".into(), number, title: "-".into() });
    /// tracks.insert_many(blue).on_progress(|progress| last = progress.entities).await.all()?;
    /// assert_eq!(last, 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_progress(mut self, progress: impl FnMut(BulkProgress) + Send + 'a) -> Self {
        self.settings.progress = Some(Box::new(progress));
        self
    }
}
