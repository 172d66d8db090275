//! Blobs: bytes of any length under a name, for [large values](crate::property::Large): the [`Blobs`] contract, and
//! an implementation in memory.
//!
//! A blob is written part by part. No reader sees a part before all of them are committed, so a blob is read whole or
//! not at all.

mod error;
mod memory;
mod rules;

pub use error::{BlobError, BlobErrorKind};
pub use memory::MemoryBlobs;
#[cfg(feature = "azure-blob")]
pub(crate) use rules::check_container;
pub(crate) use rules::check_part;

use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

/// The most parts of a blob (service documentation, "Put Block List").
pub const MAX_PARTS: u32 = 50_000;

/// The bytes of each part of a large value, but for the last: 4 MiB.
pub const PART_BYTES: usize = 4 * 1024 * 1024;

/// A backend that stores blobs, such as a container of a storage account.
///
/// [`TablesBuilder::blobs`](crate::TablesBuilder::blobs) takes it. Names have letters, digits and dots. Every
/// method sends one request, except that `create` may ask for the version of an empty blob. No method retries: its
/// caller does.
///
/// ```
/// use table_orm::blobs::{Blobs, MemoryBlobs};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), table_orm::blobs::BlobError> {
/// let blobs = MemoryBlobs::new();
/// let version = blobs.create("films.1").await?;
/// blobs.stage("films.1", 0, "first ".into()).await?;
/// blobs.stage("films.1", 1, "second".into()).await?;
/// assert_eq!(blobs.read("films.1", 0, 100).await?.as_deref(), Some(&b""[..]));
/// blobs.commit("films.1", &version, 2).await?;
/// assert_eq!(blobs.read("films.1", 6, 100).await?.as_deref(), Some(&b"second"[..]));
/// assert_eq!(blobs.list("films.", None).await?.names, ["films.1"]);
/// blobs.delete("films.1").await?;
/// assert_eq!(blobs.read("films.1", 0, 100).await?, None);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Blobs: fmt::Debug + Send + Sync {
    /// Creates an empty blob, and returns its version. An empty one that is there stays as it is.
    ///
    /// # Errors
    /// Fails with `Changed` when there is a blob that has bytes.
    async fn create(&self, name: &str) -> Result<String, BlobError>;

    /// Keeps a part for [`commit`](Self::commit). Of two with one number, the later counts.
    ///
    /// # Errors
    /// Fails with `Invalid` for a part without bytes, or with a number from [`MAX_PARTS`] on.
    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError>;

    /// Makes the parts before `parts` the bytes of the blob, if it still has that version.
    ///
    /// # Errors
    /// Fails with `Changed` when the blob was deleted or committed, or a part was not staged. Nothing was changed.
    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError>;

    /// Reads at most `most` bytes from the offset `from` on: fewer at the end of the blob. `None` where there is none.
    ///
    /// # Errors
    /// Fails with `ContainerNotFound` when the container does not exist.
    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError>;

    /// Deletes a blob, if there is one.
    ///
    /// # Errors
    /// Fails with `ContainerNotFound` when the container does not exist.
    async fn delete(&self, name: &str) -> Result<(), BlobError>;

    /// Lists names that begin with `prefix`: the first ones, or those that follow a page with that
    /// [`next`](BlobNames::next). Blobs that are empty are among them.
    ///
    /// # Errors
    /// Fails with `ContainerNotFound` when the container does not exist.
    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<BlobNames, BlobError>;
}

/// Names of blobs, page by page: [`Blobs::list`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "a backend makes it")]
pub struct BlobNames {
    /// The names of this page; there may be none.
    pub names: Vec<String>,
    /// What the next page follows; `None` on the last page.
    pub next: Option<String>,
}

#[async_trait]
impl<B: Blobs + ?Sized> Blobs for Arc<B> {
    async fn create(&self, name: &str) -> Result<String, BlobError> {
        (**self).create(name).await
    }

    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError> {
        (**self).stage(name, part, bytes).await
    }

    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError> {
        (**self).commit(name, version, parts).await
    }

    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError> {
        (**self).read(name, from, most).await
    }

    async fn delete(&self, name: &str) -> Result<(), BlobError> {
        (**self).delete(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<BlobNames, BlobError> {
        (**self).list(prefix, after).await
    }
}
