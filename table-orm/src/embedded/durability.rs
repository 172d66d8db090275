//! When answered writes are on the disk.

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
    /// of the process or of the machine loses the writes of that second, and so does a failure of the disk or of the
    /// database. Closing the store, which is dropping its last clone, loses nothing while the disk works. After a
    /// failure, the next write says so and is not applied, because answered ones may be lost: status 507, which no
    /// layer retries. Where no write follows, [`EmbeddedStore::sync`](super::EmbeddedStore::sync) says so: await it before
    /// the store is closed.
    Eventual,
}
