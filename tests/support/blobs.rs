//! Blobs for tests: in the files of a folder, among faults, and with stops.

use crate::stops::Stops;
use async_trait::async_trait;
use bytes::Bytes;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table_orm::blobs::{BlobError, BlobErrorKind, BlobNames, Blobs};
use table_orm::layer::Faults;

/// Blobs in the files of a folder. They outlive a process that is killed.
#[derive(Debug, Clone)]
pub struct FileBlobs(PathBuf);

/// The version of an empty file: a name is used once.
const EMPTY: &str = "empty";

/// So few names that a test has several pages.
const PAGE_NAMES: usize = 3;

impl FileBlobs {
    /// Those in a folder, which is there.
    pub fn open(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The names of the blobs, in order.
    pub fn names(&self) -> Vec<String> {
        let files = fs::read_dir(&self.0).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.contains('+')).collect();
        names.sort();
        names
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn part(&self, name: &str, part: u32) -> PathBuf {
        self.0.join(format!("{name}+{part}"))
    }
}

fn changed(name: &str) -> BlobError {
    BlobError::new(BlobErrorKind::Changed, name, "it has another version")
}

fn failed(name: &str, error: std::io::Error) -> BlobError {
    BlobError::new(BlobErrorKind::Other, name, "the file cannot be read or written")
        .caused_by(error)
}

#[async_trait]
impl Blobs for FileBlobs {
    async fn create(&self, name: &str) -> Result<String, BlobError> {
        match fs::File::create_new(self.file(name)) {
            Ok(_) => Ok(EMPTY.to_owned()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let length = fs::metadata(self.file(name)).map(|file| file.len());
                let is_empty = length.map_err(|error| failed(name, error))? == 0;
                if is_empty { Ok(EMPTY.to_owned()) } else { Err(changed(name)) }
            }
            Err(error) => Err(failed(name, error)),
        }
    }

    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError> {
        fs::write(self.part(name, part), bytes).map_err(|error| failed(name, error))
    }

    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError> {
        let is_empty = fs::metadata(self.file(name)).is_ok_and(|file| file.len() == 0);
        if !is_empty || version != EMPTY {
            return Err(changed(name));
        }
        let parts = (0..parts).map(|part| fs::read(self.part(name, part)));
        let parts = parts.collect::<Result<Vec<_>, _>>().map_err(|_| changed(name))?;
        let whole = self.0.join(format!("{name}+"));
        fs::write(&whole, parts.concat()).map_err(|error| failed(name, error))?;
        fs::rename(whole, self.file(name)).map_err(|error| failed(name, error))
    }

    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError> {
        match fs::read(self.file(name)) {
            Ok(bytes) => {
                let from = usize::try_from(from).unwrap().min(bytes.len());
                let end = bytes.len().min(from + most);
                Ok(Some(Bytes::copy_from_slice(&bytes[from..end])))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(name, error)),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), BlobError> {
        match fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(name, error)),
            _ => Ok(()),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<BlobNames, BlobError> {
        let names = self.names().into_iter().filter(|name| name.starts_with(prefix));
        let mut names: Vec<_> =
            names.filter(|name| after.is_none_or(|after| name.as_str() > after)).collect();
        let is_last = names.len() <= PAGE_NAMES;
        names.truncate(PAGE_NAMES);
        let next = names.last().cloned().filter(|_| !is_last);
        Ok(BlobNames { names, next })
    }
}

/// What happens before or after each request for a blob.
#[derive(Debug, Clone)]
pub struct BlobsAround {
    inner: Arc<dyn Blobs>,
    stops: Stops,
}

impl BlobsAround {
    /// The same blobs, which do what was chosen just before a request.
    pub fn with_stops(inner: impl Blobs + 'static, stops: &Stops) -> Self {
        Self { inner: Arc::new(inner), stops: stops.clone() }
    }

    /// The same blobs, of whose requests some fail before they take effect, and some after.
    pub fn with_faults(inner: impl Blobs + 'static, seed: u64) -> Self {
        let faults = Faults::seeded(seed).lost_requests(0.1).lost_replies(0.1);
        Self::with_stops(faults.blobs(Arc::new(inner)).unwrap(), &Stops::default())
    }

    async fn send<T: Send>(
        &self,
        name: &str,
        request: impl Future<Output = Result<T, BlobError>> + Send,
    ) -> Result<T, BlobError> {
        self.stops.request(format!("blob {name}")).await;
        // A call can be dropped before it.
        tokio::task::yield_now().await;
        request.await
    }
}

#[async_trait]
impl Blobs for BlobsAround {
    async fn create(&self, name: &str) -> Result<String, BlobError> {
        self.send(name, self.inner.create(name)).await
    }

    async fn stage(&self, name: &str, part: u32, bytes: Bytes) -> Result<(), BlobError> {
        self.send(name, self.inner.stage(name, part, bytes)).await
    }

    async fn commit(&self, name: &str, version: &str, parts: u32) -> Result<(), BlobError> {
        self.send(name, self.inner.commit(name, version, parts)).await
    }

    async fn read(&self, name: &str, from: u64, most: usize) -> Result<Option<Bytes>, BlobError> {
        self.send(name, self.inner.read(name, from, most)).await
    }

    async fn delete(&self, name: &str) -> Result<(), BlobError> {
        self.send(name, self.inner.delete(name)).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<BlobNames, BlobError> {
        self.send(prefix, self.inner.list(prefix, after)).await
    }
}
