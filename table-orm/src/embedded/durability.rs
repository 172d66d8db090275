//! When answered writes are on the disk.
//!
//! Invariant: a file holds the writes up to some moment, in their order, each request whole. A sync
//! comes at most [`PERIOD`] after a write, and the last one when the store is closed.

use super::engine::Engine;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often writes are synced that were answered before.
const PERIOD: Duration = Duration::from_millis(500);

/// When a write to a database file is on the disk.
///
/// Either way, a request takes effect whole or not at all, every answered write is read by the next
/// request, and a file that was not closed opens as it was after some write, with every write before that
/// one and none after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// Before it is answered: neither a crash of the process nor one of the machine loses it. Writers
    /// that wait at the same time share a sync.
    #[default]
    Immediate,
    /// Within about a second after it is answered: for tests, and for data that can be made again. A crash
    /// of the process or of the machine loses the writes of that second. Closing the store, which is
    /// dropping its last clone, loses nothing. If the disk fails, the next write says so and is not
    /// applied, because answered ones may be lost.
    Eventual,
}

/// A thread that syncs a database now and then. Dropping this value ends it.
#[derive(Debug)]
pub(crate) struct Syncer {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn start(engine: Arc<Engine>) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = Builder::new().name("table-orm sync".to_owned()).spawn(move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                engine.sync();
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// Waits for the thread, because the file is open until it has ended.
impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop = None;
        // A thread that panicked has ended, too.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
