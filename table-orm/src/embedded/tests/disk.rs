use super::super::apply::DatabaseWriter;
use super::super::database::Database;
use super::super::durability::Durability;
use super::super::engine::Engine;
use super::super::file::File;
use super::super::{EmbeddedStore, OpenError};
use crate::model::DateTime;
use redb::StorageBackend as _;
use redb::backends::InMemoryBackend;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A disk in memory that counts its syncs, can hold them up, and can fail.
#[derive(Debug, Default, Clone)]
pub(crate) struct Disk {
    memory: Arc<InMemoryBackend>,
    durability: Durability,
    pub(crate) syncs: Arc<AtomicUsize>,
    gate: Arc<(Mutex<Gate>, Condvar)>,
    /// Whether syncs fail.
    pub(crate) broken: Arc<AtomicBool>,
    /// Whether everything fails.
    pub(crate) unplugged: Arc<AtomicBool>,
    pub(crate) panics: Arc<AtomicBool>,
}

/// Whether syncs are held up, and whether one is.
#[derive(Debug, Default)]
struct Gate {
    closed: bool,
    waiting: bool,
}

impl Disk {
    pub(crate) fn hold(&self, held: bool) {
        let (gate, changed) = &*self.gate;
        gate.lock().unwrap().closed = held;
        changed.notify_all();
    }

    /// Waits until a sync is held up.
    pub(crate) async fn is_held_up(&self) {
        while !self.gate.0.lock().unwrap().waiting {
            tokio::task::yield_now().await;
        }
    }

    fn pass(&self) {
        let (gate, changed) = &*self.gate;
        let mut gate = gate.lock().unwrap();
        while gate.closed {
            gate.waiting = true;
            gate = changed.wait(gate).unwrap();
        }
        gate.waiting = false;
    }

    fn reach(&self) -> io::Result<&InMemoryBackend> {
        if self.unplugged.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is unplugged"));
        }
        Ok(&self.memory)
    }

    /// What a crash of the process leaves: all that was written to the disk so far.
    pub(crate) fn after_crash(&self) -> Self {
        let copy = Self { durability: self.durability, ..Self::default() };
        let mut bytes = vec![0; self.memory.len().unwrap() as usize];
        self.memory.read(0, &mut bytes).unwrap();
        copy.memory.set_len(bytes.len() as u64).unwrap();
        copy.memory.write(0, &bytes).unwrap();
        copy
    }

    fn open(&self) -> Result<(Database, DatabaseWriter), redb::Error> {
        let database = redb::Database::builder().create_with_backend(self.clone())?;
        let database = Database::File(File::new(database, self.durability));
        let writer = DatabaseWriter::start(&database)?;
        Ok((database, writer))
    }
}

impl redb::StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.reach()?.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.reach()?.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.reach()?.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.pass();
        assert!(!self.panics.swap(false, Ordering::Relaxed), "the disk panics");
        self.syncs.fetch_add(1, Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is broken"));
        }
        self.reach()?.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.reach()?.write(offset, data)
    }
}

/// A disk whose store syncs writes after they are answered.
pub(crate) fn eventual() -> Disk {
    Disk { durability: Durability::Eventual, ..Disk::default() }
}

/// The same, whose timestamps are a day ahead of the clock. Only the first write of a row reserves more of them, which
/// syncs.
pub(crate) fn eventual_ahead() -> Disk {
    const DAY_TICKS: i64 = 86_400 * 10_000_000;
    let disk = eventual();
    let (database, _) = disk.open().unwrap();
    let transaction = database.begin().unwrap();
    transaction.store_clock(DateTime::now().ticks() + DAY_TICKS).unwrap();
    transaction.commit_synced().unwrap();
    disk
}

/// A store that works like one in a file, but does not open the file again.
pub(crate) fn on(disk: &Disk) -> EmbeddedStore {
    store(Engine::new(disk.open().unwrap(), None))
}

/// A store that opens its database again when the disk has failed.
pub(crate) fn on_again(disk: &Disk) -> EmbeddedStore {
    let again = disk.clone();
    let reopen = move || {
        let failed = |error: redb::Error| OpenError::Io {
            path: PathBuf::from("disk"),
            source: io::Error::other(error),
        };
        again.open().map_err(failed)
    };
    store(Engine::new(disk.open().unwrap(), Some(Box::new(reopen))))
}

fn store(engine: Engine) -> EmbeddedStore {
    EmbeddedStore::new(Arc::new(engine), None, Some(PathBuf::from("disk")))
}
