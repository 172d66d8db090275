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

pub(super) use chunk::bytes;
pub use open::{OPEN_BYTES, OPEN_OPERATIONS};
pub use report::{BulkFailure, BulkProgress, BulkReport, Remainder};

use crate::error::Result;
use crate::plan::{Plan, TableClient};
use crate::store::Batch;
use futures_core::future::BoxFuture;
use run::Run;
use std::fmt;

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

/// How entities travel.
pub(super) struct BatchPolicy<E> {
    /// The operations that write an entity: those that are sent, or at least those of its rows.
    pub operations: fn(&E) -> Result<Batch>,
    /// Sends one by itself, where its operations depend on what is stored.
    pub alone: Option<SendAlone<E>>,
}

impl<E> Clone for BatchPolicy<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for BatchPolicy<E> {}

/// Sends one entity and gives it back with the answer.
pub(super) type SendAlone<E> = fn(TableClient, E) -> BoxFuture<'static, (E, Result<()>)>;
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
        Run::new(self).plan()
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
        let run = Run::new(self);
        Box::pin(run.run())
    }
}
