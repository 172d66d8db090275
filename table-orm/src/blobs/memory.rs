//! Blobs in this process, for tests and examples.
//!
//! Invariant: a blob changes once, from empty to the bytes of its parts, and gets another version then.

use super::{BlobError, BlobErrorKind, BlobNames, Blobs, check_part};
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// [`Blobs`] in memory. Clones share the blobs, which last until the last clone is dropped.
///
/// ```
/// use table_orm::Tables;
/// use table_orm::blobs::MemoryBlobs;
/// use table_orm::embedded::EmbeddedStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let blobs = MemoryBlobs::new();
/// let tables = Tables::builder(EmbeddedStore::in_memory()?).blobs(blobs.clone()).build()?;
/// assert_eq!(blobs.names(), [""; 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MemoryBlobs {
    state: Arc<Mutex<BlobsState>>,
}

#[derive(Debug, Default)]
struct BlobsState {
    /// Each with its version.
    blobs: BTreeMap<String, (u64, Bytes)>,
    staged: BTreeMap<String, BTreeMap<u32, Bytes>>,
    /// The last version.
    last: u64,
}

impl BlobsState {
    fn set(&mut self, name: &str, bytes: Bytes) -> String {
        self.last += 1;
        self.blobs.insert(name.to_owned(), (self.last, bytes));
        self.last.to_string()
    }
}

impl MemoryBlobs {
    /// Makes a store without blobs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The names of the blobs, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.state().blobs.keys().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, BlobsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn changed(name: &str, message: &str) -> BlobError {
    BlobError::new(BlobErrorKind::Changed, name, message)
}

#[async_trait]
impl Blobs for MemoryBlobs {
    async fn create(&self, name: &str) -> Result<String, BlobError> {
        let mut state = self.state();
        match state.blobs.get(name) {
            Some((version, bytes)) if bytes.is_empty() => Ok(version.to_string()),
            Some(_) => Err(changed(name, "there is a blob of this name")),
            None => Ok(state.set(name, Bytes::new())),
        }
    }

    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError> {
        check_part(name, part, bytes.len())?;
        self.state().staged.entry(name.to_owned()).or_default().insert(part, bytes);
        Ok(())
    }

    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError> {
        let mut state = self.state();
        let is_same = |(stored, _): &(u64, Bytes)| stored.to_string() == version;
        if !state.blobs.get(name).is_some_and(is_same) {
            return Err(changed(name, "the blob was deleted, or has bytes"));
        }
        let staged = state.staged.get(name);
        let staged = (0..parts).map(|part| staged.and_then(|staged| staged.get(&part)));
        let Some(staged) = staged.collect::<Option<Vec<_>>>() else {
            return Err(changed(name, "a part was not staged"));
        };
        let mut bytes = BytesMut::new();
        staged.into_iter().for_each(|part| bytes.extend_from_slice(part));
        state.staged.remove(name);
        state.set(name, bytes.freeze());
        Ok(())
    }

    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError> {
        let state = self.state();
        let range = |bytes: &Bytes| {
            let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
            bytes.slice(from..from.saturating_add(most).min(bytes.len()))
        };
        Ok(state.blobs.get(name).map(|(_, bytes)| range(bytes)))
    }

    async fn delete(&self, name: &str) -> Result<(), BlobError> {
        let mut state = self.state();
        state.staged.remove(name);
        state.blobs.remove(name);
        Ok(())
    }

    async fn list(&self, prefix: &str, _after: Option<&str>) -> Result<BlobNames, BlobError> {
        let mut names = self.names();
        names.retain(|name| name.starts_with(prefix));
        Ok(BlobNames { names, next: None })
    }
}
