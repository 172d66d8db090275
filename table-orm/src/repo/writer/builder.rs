//! The settings of a writer, and the call that opens it.

use super::handle::{Inlet, Message, Writer};
use super::journal::Journal;
use super::lanes::Ticket;
use super::run::WriterRun;
use crate::entity::TableEntity;
use crate::error::{Result, WriterError};
use crate::model::TableName;
use crate::plan::TableClient;
use crate::repo::Repo;
use crate::repo::bulk::{BatchPolicy, DEFAULT_PARALLELISM};
use crate::store::Store;
use futures_core::future::BoxFuture;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// How long an entity waits for others of its partition, unless the call sets another time.
const DELAY: Duration = Duration::from_secs(1);
/// The bytes that a writer holds, unless the call sets others: those of four full transactions.
const BUFFER_BYTES: usize = 16 << 20;

impl<E: TableEntity + 'static> Repo<E> {
    /// Opens a writer for entities that arrive one by one, such as telemetry. It collects them, and inserts
    /// those of one partition together: one request for up to 100 rows.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{second:06}")]
    /// # struct Reading { sensor: String, second: u32, celsius: f64 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// let writer = readings.writer().await?;
    /// for second in 0..250 {
    ///     writer.send(Reading { sensor: "roof".into(), second, celsius: 20.5 }).await?;
    /// }
    /// let written = writer.close().await?.all()?;
    /// assert_eq!((written.entities, written.requests), (250, 3));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A transaction is sent when it is full, with 100 operations or 4 MiB, or a second after its first
    /// entity; [`OpenWriter`] has the settings. [`Writer`] says what it promises.
    ///
    /// # Errors
    /// [`WriterError::NoRuntime`] outside of a tokio runtime.
    pub fn writer(&self) -> OpenWriter<E> {
        OpenWriter {
            client: self.client.clone(),
            policy: BatchPolicy::insert(),
            delay: DELAY,
            buffer: BUFFER_BYTES,
            parallelism: DEFAULT_PARALLELISM,
            journal: None,
        }
    }
}

/// A writer to be opened: `.await` opens it.
///
/// ```
/// # use std::time::Duration;
/// # use table_orm::{TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "readings", partition = "{sensor}", row = "{second:06}")]
/// # struct Reading { sensor: String, second: u32, celsius: f64 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let readings = Tables::in_memory()?.repo::<Reading>();
/// # readings.create_table().await?;
/// let writer = readings.writer().every(Duration::from_secs(10)).buffer(64 << 20).upserts().await?;
/// writer.send(Reading { sensor: "roof".into(), second: 1, celsius: 20.5 }).await?;
/// writer.send(Reading { sensor: "roof".into(), second: 1, celsius: 21.0 }).await?;
/// writer.close().await?.all()?;
/// let roof = readings.get(Reading::partition("roof").row().second(1)).await?;
/// assert_eq!(roof.map(|reading| reading.celsius), Some(21.0));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is opened until this is awaited"]
pub struct OpenWriter<E> {
    client: TableClient,
    policy: BatchPolicy<E>,
    delay: Duration,
    buffer: usize,
    parallelism: usize,
    journal: Option<Arc<dyn Store>>,
}

impl<E: TableEntity + 'static> OpenWriter<E> {
    /// Keeps what the writer takes in a store, such as a database file, until it is written. [`Writer::send`]
    /// then returns when the entity is on the disk, and the next writer with the same journal, table and type
    /// writes what an ended process left. Calls at the same time share a sync of the disk.
    ///
    /// Open one writer at a time for a journal, a table and a type: two would number their entities alike, and
    /// `send` fails with [`WriterError::JournalInUse`]. Opening fails with [`WriterError::Journal`] while the file
    /// has an entry that cannot be read as an `E`.
    ///
    /// Each entity is sent at least once. An insert that is sent again and finds an equal entity counts it as
    /// [`present`](crate::repo::BulkProgress::present). An upsert that is sent again may
    /// overwrite what another program wrote since.
    ///
    /// While the service cannot be reached, or an answer is lost, the writer waits and tries again, at most a
    /// minute later, until it knows. `flush` and `close` wait for that.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{second:06}")]
    /// # struct Reading { sensor: String, second: u32, celsius: f64 }
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use table_orm::embedded::EmbeddedStore;
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// # let directory = tempfile::tempdir()?;
    /// let file = EmbeddedStore::open(directory.path().join("journal.redb"))?;
    /// let writer = readings.writer().journal(file).await?;
    /// writer.send(Reading { sensor: "roof".into(), second: 1, celsius: 20.5 }).await?; // on the disk
    /// writer.close().await?.all()?; // in the table
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub fn journal(mut self, store: impl Store + 'static) -> Self {
        self.journal = Some(Arc::new(store));
        self
    }

    /// The tables whose entities of this type are in its journal.
    pub(crate) async fn tables_in_journal(&self) -> Result<Vec<TableName>> {
        match &self.journal {
            Some(store) => Journal::tables::<E>(Arc::clone(store)).await,
            None => Ok(Vec::new()),
        }
    }

    /// Inserts or replaces the entities, in place of inserting them.
    ///
    /// Where the type's [`KEYS_FOLLOW_CANONICAL`](TableEntity::KEYS_FOLLOW_CANONICAL) is `false`, each entity
    /// costs a read and a write of its own.
    pub fn upserts(mut self) -> Self {
        self.policy = BatchPolicy::upsert();
        self
    }

    /// Sets how long an entity waits for others of its partition: 1 s by default.
    pub fn every(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sets how many bytes of requests the writer holds, sent or not: 16 MiB by default. A row counts with
    /// 512 bytes besides its own. The writer takes an entity that is larger than half of it once half is free.
    pub fn buffer(mut self, bytes: usize) -> Self {
        self.buffer = bytes.clamp(2, u32::MAX as usize);
        self
    }

    /// Sets the most transactions in flight: 16 by default; 0 counts as 1. One partition has one at a time.
    pub fn parallelism(mut self, requests: usize) -> Self {
        self.parallelism = requests.max(1);
        self
    }
}

impl<E> fmt::Debug for OpenWriter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenWriter")
            .field("client", &self.client)
            .field("delay", &self.delay)
            .field("buffer", &self.buffer)
            .field("parallelism", &self.parallelism)
            .finish_non_exhaustive()
    }
}

impl<E: TableEntity + 'static> IntoFuture for OpenWriter<E> {
    type Output = Result<Writer<E>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let runtime = Handle::try_current().map_err(|_| WriterError::NoRuntime)?;
            let Self { client, policy, delay, buffer, parallelism, journal } = self;
            let (journal, entries) = match journal {
                Some(store) => {
                    let (journal, entries) = Journal::open::<E>(store, &client.table).await?;
                    (Some(journal), entries)
                }
                None => (None, Vec::new()),
            };
            let (sender, receiver) = mpsc::unbounded_channel();
            let inlet = Arc::new(Inlet::new(client, policy, journal, buffer));
            for (entry, entity) in entries {
                let measured = inlet.policy.measured(&inlet.client, &entity);
                let measured = measured.map_err(|error| match &inlet.journal {
                    Some(journal) => journal.unusable(entry, error),
                    None => error,
                })?;
                let (share, entry) = (inlet.buffer.take_nothing()?, Some(entry));
                let ticket = Ticket { epoch: 0, share, entry, is_sent: true };
                // The receiver is below.
                let _sent = sender.send(Message::Entity { entity, measured, ticket });
            }
            let run = WriterRun::new(Arc::clone(&inlet), receiver);
            runtime.spawn(run.run(delay, parallelism));
            Ok(Writer::new(inlet, sender))
        })
    }
}
