//! How a database file is opened.

use super::durability::Durability;

/// The cache without other options: enough for the inner pages of a million rows.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// How [`EmbeddedStore::open_with`](super::EmbeddedStore::open_with) opens a file. A [`Durability`] is one with
/// everything else as by default.
///
/// ```
/// use table_orm::embedded::{Durability, EmbeddedStore, FileOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("race.redb");
/// let options = FileOptions::default().durability(Durability::Eventual).cache_bytes(256 << 20);
/// let store = EmbeddedStore::open_with(&path, options)?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "options do nothing until a file is opened with them"]
pub struct FileOptions {
    pub(super) durability: Durability,
    pub(super) cache_bytes: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { durability: Durability::Immediate, cache_bytes: CACHE_BYTES }
    }
}

impl From<Durability> for FileOptions {
    fn from(durability: Durability) -> Self {
        Self::default().durability(durability)
    }
}

impl FileOptions {
    /// Sets when a write is answered.
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the most memory that pages of the file take, in bytes. By default 64 MiB. A scan of a file that fits is
    /// faster.
    pub const fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }
}
