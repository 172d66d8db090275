//! The handle of a writer, by which an app sends it entities.

use super::journal::Journal;
use super::lanes::Ticket;
use super::report::WriterReport;
use super::unreported::Unreported;
use crate::entity::{EntityRows, TableEntity};
use crate::error::{Result, WriterError};
use crate::plan::{MeasuredBatch, TableClient};
use crate::repo::bulk::BatchPolicy;
use futures_core::Stream;
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};

/// Takes entities one by one, and writes them as full transactions. Cheap to clone: clones are the same
/// writer.
///
/// - [`send`](Self::send) takes an entity, and waits while the buffer is full. Entities of one partition are
///   written in the order in which they were taken; those of two partitions in any order.
/// - What could not be written is handed back with its entities by the next [`flush`](Self::flush) or
///   [`close`](Self::close). An entity that the store rejects takes no other with it.
/// - A writer whose last clone is dropped writes what it took, as long as its runtime goes on, and nobody
///   learns of failures. Entities are lost when the runtime or the process ends before that. So end with
///   `close`.
///
/// ```
/// # use table_orm::{Error, TableEntity, Tables};
/// # #[derive(Debug, Clone, PartialEq, TableEntity)]
/// # #[table(name = "readings", partition = "{sensor}", row = "{second:06}")]
/// # struct Reading { sensor: String, second: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> table_orm::Result<()> {
/// # let readings = Tables::in_memory()?.repo::<Reading>();
/// # readings.create_table().await?;
/// readings.insert(&Reading { sensor: "roof".into(), second: 7 }).await?;
/// let writer = readings.writer().await?;
/// for second in 0..10 {
///     writer.send(Reading { sensor: "roof".into(), second }).await?;
/// }
/// let report = writer.flush().await?;
/// assert_eq!(report.written.entities, 9);
/// assert_eq!(report.failures[0].entities, [Reading { sensor: "roof".into(), second: 7 }]);
/// assert!(matches!(report.failures[0].error, Error::AlreadyExists(_)));
/// # Ok(())
/// # }
/// ```
pub struct Writer<E> {
    inlet: Arc<Inlet<E>>,
    sender: UnboundedSender<Message<E>>,
}

/// What goes from the handles of a writer to its task.
pub(super) enum Message<E> {
    Entity {
        entity: E,
        measured: MeasuredBatch,
        ticket: Ticket,
    },
    /// A `send` waits for room.
    Pressed,
    Flush(oneshot::Sender<()>),
    /// A flush that takes no report.
    Finish(oneshot::Sender<()>),
    Close(oneshot::Sender<()>),
}

/// What a row takes in memory besides the bytes of its request.
const ROW_BYTES: usize = 512;

/// How full a writer is.
#[derive(Debug)]
pub(super) struct Buffer {
    /// The bytes that are free.
    room: Arc<Semaphore>,
    bytes: usize,
    /// How many calls wait for room.
    waiting: AtomicUsize,
    /// The bytes of the failures that nobody took.
    unclaimed: AtomicUsize,
    /// Wakes the calls that wait for room when the failures take it.
    failed: Notify,
}

impl Buffer {
    /// Whether calls wait for room.
    pub fn is_pressed(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Sets how many bytes the failures have that nobody took.
    pub fn set_unclaimed(&self, bytes: usize) {
        self.unclaimed.store(bytes, Ordering::Release);
        self.failed.notify_waiters();
    }

    fn check(&self) -> Result<(), WriterError> {
        let is_full = self.unclaimed.load(Ordering::Acquire) > self.bytes / 2;
        if is_full { Err(WriterError::Unclaimed) } else { Ok(()) }
    }

    /// The share of an entity: half of the buffer at most, which failures always leave.
    fn share(&self, measured: &MeasuredBatch) -> u32 {
        let bytes = measured.bytes + measured.batch.operations.len() * ROW_BYTES;
        u32::try_from(bytes.min(self.bytes / 2)).unwrap_or(u32::MAX)
    }

    /// No room, for an entity that an earlier writer took.
    pub fn take_nothing(&self) -> Result<OwnedSemaphorePermit, WriterError> {
        let nothing = Arc::clone(&self.room).try_acquire_many_owned(0);
        nothing.map_err(|_| WriterError::Closed)
    }

    /// Takes room for an entity, if there is enough.
    fn try_take(
        &self,
        measured: &MeasuredBatch,
    ) -> Result<Option<OwnedSemaphorePermit>, WriterError> {
        self.check()?;
        Ok(Arc::clone(&self.room).try_acquire_many_owned(self.share(measured)).ok())
    }

    /// Takes room for an entity, once there is enough.
    async fn take(&self, measured: &MeasuredBatch) -> Result<OwnedSemaphorePermit, WriterError> {
        let mut share = pin!(Arc::clone(&self.room).acquire_many_owned(self.share(measured)));
        loop {
            let mut failed = pin!(self.failed.notified());
            failed.as_mut().enable();
            self.check()?;
            if let Either::Left((share, _)) = select(share.as_mut(), failed).await {
                return share.map_err(|_| WriterError::Closed);
            }
        }
    }
}

/// What takes entities.
pub(super) struct Inlet<E> {
    pub client: TableClient,
    pub policy: BatchPolicy<E>,
    pub journal: Option<Journal>,
    pub buffer: Buffer,
    unreported: Mutex<Unreported<E>>,
}

impl<E> Inlet<E> {
    pub fn new(
        client: TableClient,
        policy: BatchPolicy<E>,
        journal: Option<Journal>,
        bytes: usize,
    ) -> Self {
        let room = Arc::new(Semaphore::new(bytes));
        let (waiting, unclaimed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let buffer = Buffer { room, bytes, waiting, unclaimed, failed: Notify::new() };
        Self { client, policy, journal, buffer, unreported: Mutex::default() }
    }

    pub fn unreported(&self) -> MutexGuard<'_, Unreported<E>> {
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: TableEntity + 'static> Writer<E> {
    pub(super) const fn new(inlet: Arc<Inlet<E>>, sender: UnboundedSender<Message<E>>) -> Self {
        Self { inlet, sender }
    }

    /// Takes an entity, to be written with others of its partition. Waits while the buffer is full.
    ///
    /// When the call is dropped before it returns, the entity was not taken. With a journal, the next writer
    /// may find it there, and write it.
    ///
    /// # Errors
    /// When a key or a property cannot hold one of the values: the same errors as `insert`.
    /// [`Error::Writer`](crate::Error::Writer) when the writer is closed, or when failures that nobody took
    /// fill half of the buffer. The entity was not taken then. With a journal, also when its file cannot be
    /// written; the next writer may still find the entity there.
    pub async fn send(&self, entity: E) -> Result<()> {
        let Inlet { client, policy, buffer, journal, .. } = &*self.inlet;
        let measured = policy.measured(client, &entity)?;
        let share = match buffer.try_take(&measured)? {
            Some(share) => share,
            None => {
                let _waits = Waits::begin(&buffer.waiting);
                self.tell(Message::Pressed)?;
                buffer.take(&measured).await?
            }
        };
        let entry = match journal {
            Some(journal) => {
                let rows = EntityRows::of(&entity)?;
                let body = rows.canonical().map(|row| row.body.clone()).unwrap_or_default();
                Some(journal.add(&body).await?)
            }
            None => None,
        };
        let ticket = Ticket { epoch: 0, share, entry, is_sent: false };
        let taken = self.tell(Message::Entity { entity, measured, ticket });
        if let (Err(_), Some(journal)) = (&taken, journal) {
            journal.remove(entry.into_iter()).await;
        }
        taken
    }

    /// Takes the entities of a stream, one after the other, and returns at its end. Waits while the buffer is full,
    /// so the stream is read no faster than the writer writes.
    ///
    /// ```
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(Debug, Clone, PartialEq, TableEntity)]
    /// # #[table(name = "readings", partition = "{sensor}", row = "{second:06}")]
    /// # struct Reading { sensor: String, second: u32 }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> table_orm::Result<()> {
    /// # let readings = Tables::in_memory()?.repo::<Reading>();
    /// # readings.create_table().await?;
    /// let seconds = (0..300).map(|second| Reading { sensor: "roof".into(), second });
    /// let writer = readings.writer().await?;
    /// writer.send_all(futures_util::stream::iter(seconds)).await?;
    /// assert_eq!(writer.close().await?.all()?.entities, 300);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first error of [`send`](Self::send). The entities before it were taken, and the rest of the stream was
    /// not read.
    pub async fn send_all(&self, entities: impl Stream<Item = E>) -> Result<()> {
        let mut entities = pin!(entities);
        while let Some(entity) = entities.next().await {
            self.send(entity).await?;
        }
        Ok(())
    }

    /// Writes everything that was taken before, without waiting for more entities. Returns what was written,
    /// and what could not be written, since the last report. When the call is dropped before it returns, the next
    /// one returns that.
    ///
    /// # Errors
    /// [`Error::Writer`](crate::Error::Writer) when the writer is closed.
    pub async fn flush(&self) -> Result<WriterReport<E>> {
        self.ask(Message::Flush).await
    }

    /// Writes everything that was taken, and closes the writer for all its clones. Returns what was written,
    /// and what could not be written, since the last report.
    ///
    /// # Errors
    /// [`Error::Writer`](crate::Error::Writer) when the writer was closed before.
    pub async fn close(self) -> Result<WriterReport<E>> {
        self.ask(Message::Close).await
    }

    /// Writes everything that was taken before. Returns whether no failure is to be reported. One that is stays in
    /// the journal until a call takes the report.
    pub(crate) async fn finish(&self) -> Result<bool> {
        self.wait(Message::Finish).await?;
        Ok(self.inlet.unreported().has_no_failures())
    }

    async fn wait(&self, question: impl FnOnce(oneshot::Sender<()>) -> Message<E>) -> Result<()> {
        let (sender, done) = oneshot::channel();
        self.tell(question(sender))?;
        done.await.map_err(|_| WriterError::Closed.into())
    }

    async fn ask(
        &self,
        question: impl FnOnce(oneshot::Sender<()>) -> Message<E>,
    ) -> Result<WriterReport<E>> {
        self.wait(question).await?;
        let mut unreported = self.inlet.unreported();
        self.inlet.buffer.set_unclaimed(0);
        Ok(unreported.take())
    }

    fn tell(&self, message: Message<E>) -> Result<()> {
        self.sender.send(message).map_err(|_| WriterError::Closed.into())
    }
}

/// A call that waits for room.
struct Waits<'w>(&'w AtomicUsize);

impl<'w> Waits<'w> {
    fn begin(waiting: &'w AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<E> Clone for Writer<E> {
    fn clone(&self) -> Self {
        Self { inlet: Arc::clone(&self.inlet), sender: self.sender.clone() }
    }
}

impl<E> fmt::Debug for Writer<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("client", &self.inlet.client)
            .field("buffer", &self.inlet.buffer)
            .finish_non_exhaustive()
    }
}
