//! Writes that are brought to the disk after they are answered.
//!
//! Invariant: a file holds the writes up to some moment, in their order, each request whole. A sync
//! begins at most [`PERIOD`] after a write was answered, and the last one when the store is closed.

use super::engine::Engine;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often writes are synced that were answered before.
const PERIOD: Duration = Duration::from_millis(500);

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
                // The next writer, or the next call that asks for a sync, gets the error.
                let _reported = engine.sync();
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
