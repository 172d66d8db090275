//! Blobs that fail on purpose.

use super::fault::InjectedFault;
use super::injector::Injector;
use super::settings::Faults;
use crate::blobs::{BlobError, BlobErrorKind, BlobNames, Blobs};
use crate::layer::LayerError;
use crate::store::StoreError;
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

impl Faults {
    /// Returns blobs with these faults, for [large values](crate::guide::run::large_values). Settings of pages,
    /// partitions and tables have no effect on them. A clone of the blobs controls the faults while a test runs.
    ///
    /// [`on`](Self::on) takes the operations `create-blob`, `stage-blob`, `commit-blob`, `read-blob`, `delete-blob` and
    /// `list-blobs`.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use table_orm::blobs::MemoryBlobs;
    /// # use table_orm::embedded::EmbeddedStore;
    /// use table_orm::layer::{Fault, Faults};
    /// # use table_orm::property::Large;
    /// # use table_orm::{TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # #[table(name = "films", partition = "{studio}")]
    /// # #[row(by_id, key = "FILM:{id:05}")]
    /// # struct Film { studio: String, id: u32, #[table(overflow)] trailer: Large }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = EmbeddedStore::in_memory()?;
    /// # tokio::time::pause();
    /// let faults = Faults::seeded(1).on("stage-blob", 1, Fault::LostReply);
    /// let blobs = faults.blobs(Arc::new(MemoryBlobs::new()))?;
    /// let films = Tables::builder(store).blobs(blobs.clone()).build()?.repo::<Film>();
    /// # films.create_table().await?;
    ///
    /// let mut upload = films.upload(Film::partition("a").by_id().id(1))?;
    /// upload.add(vec![7; 5_000_000]).await?; // sent again, because the answer was lost
    /// let trailer = upload.finish().await?;
    /// films.insert(&Film { studio: "a".into(), id: 1, trailer }).await?;
    /// assert_eq!(blobs.injected(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As of [`store`](Self::store).
    pub fn blobs(self, inner: Arc<dyn Blobs>) -> Result<FaultBlobs, LayerError> {
        Ok(FaultBlobs { inner, injector: Arc::new(Injector::new(self)?) })
    }
}

/// Blobs that fail on purpose. Clones are the same blobs. See [`Faults::blobs`].
#[derive(Debug, Clone)]
pub struct FaultBlobs {
    inner: Arc<dyn Blobs>,
    injector: Arc<Injector>,
}

impl FaultBlobs {
    /// Stops all faults, until [`enable`](Self::enable).
    pub fn disable(&self) {
        self.injector.disable(true);
    }

    /// Starts faults again, as the settings say.
    pub fn enable(&self) {
        self.injector.disable(false);
    }

    /// Returns how many requests got a fault so far. Slow replies do not count.
    #[must_use]
    pub fn injected(&self) -> u64 {
        self.injector.injected()
    }

    fn sample(&self, operation: &'static str) -> Option<InjectedFault> {
        let fault = self.injector.sample();
        if self.injector.is_disabled() {
            return None;
        }
        self.injector.scripted(operation).or(fault)
    }

    async fn read<T>(
        &self,
        operation: &'static str,
        name: &str,
        next: impl Future<Output = Result<T, BlobError>> + Send,
    ) -> Result<T, BlobError> {
        self.injector.apply(self.sample(operation), |error| failed(name, error), next).await
    }

    async fn write<T: Send + 'static, F>(
        &self,
        operation: &'static str,
        name: &str,
        next: impl FnOnce(Arc<dyn Blobs>, String) -> F + Send,
    ) -> Result<T, BlobError>
    where
        F: Future<Output = Result<T, BlobError>> + Send + 'static,
    {
        let fault = self.sample(operation);
        let next = next(Arc::clone(&self.inner), name.to_owned());
        self.injector.apply_to_write(fault, |error| failed(name, error), next).await
    }
}

fn failed(name: &str, error: StoreError) -> BlobError {
    let kind = match error.status {
        401 | 403 => BlobErrorKind::Forbidden,
        404 | 409 | 412 => BlobErrorKind::Changed,
        0 | 408 | 429 | 500.. => BlobErrorKind::Unavailable,
        _ => BlobErrorKind::Invalid,
    };
    BlobError::new(kind, name, error.to_string()).caused_by(error)
}

#[async_trait]
impl Blobs for FaultBlobs {
    async fn create(&self, name: &str) -> Result<String, BlobError> {
        let create = |inner: Arc<dyn Blobs>, name: String| async move { inner.create(&name).await };
        self.write("create-blob", name, create).await
    }

    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError> {
        let stage = move |inner: Arc<dyn Blobs>, name: String| async move {
            inner.stage(&name, part, bytes).await
        };
        self.write("stage-blob", name, stage).await
    }

    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError> {
        let version = version.to_owned();
        let commit = move |inner: Arc<dyn Blobs>, name: String| async move {
            inner.commit(&name, &version, parts).await
        };
        self.write("commit-blob", name, commit).await
    }

    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError> {
        self.read("read-blob", name, self.inner.read(name, from, most)).await
    }

    async fn delete(&self, name: &str) -> Result<(), BlobError> {
        let delete = |inner: Arc<dyn Blobs>, name: String| async move { inner.delete(&name).await };
        self.write("delete-blob", name, delete).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<BlobNames, BlobError> {
        self.read("list-blobs", prefix, self.inner.list(prefix, after)).await
    }
}
